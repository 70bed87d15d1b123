"""The scenes of a ConCon stream, lot by lot, as nets are shown them: pixels, the scenes' own attributes, or perceived slots."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.perception import perceived_tables
from einstellung.scenes.folders import load_case
from einstellung.scenes.rendering import resolve_backend
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.store import SceneSet, attribute_set, scene_set
from einstellung.scenes.tables import attribute_table
from einstellung.scenes.twin_sets import twin_set
from einstellung.streams.stream import ImageSet

UNCONFOUNDED = "unconfounded"
SPLITS = ("train", "val", "test")
_LOT = 10**7  # identities are counted from a multiple of this, a lot's own


@dataclass(frozen=True)
class Making:
    """Scenes that are drawn and rendered here, so many of each class in each task."""

    counts: dict[str, int]
    size: int
    seed: int
    backend: str


@dataclass(frozen=True)
class Lot:
    """One split of one task: its scenes, and what a net sees of them, in the same order."""

    scenes: SceneSet
    images: ImageSet

    def take(self, rows: Tensor) -> Lot:
        return Lot(self.scenes.take(rows.numpy()), self.images.take(rows))

    def of_label(self, label: int) -> Lot:
        return self.take((self.images.labels == label).nonzero().flatten())

    def first(self, count: int) -> Lot:
        """The first so many of each class."""
        rows = [(self.images.labels == label).nonzero().flatten()[:count] for label in (1, 0)]
        return self.take(torch.cat(rows))


class Lots:
    """Where the lots of a variant come from: made here (and kept), or read from a folder."""

    def __init__(
        self, book: RuleBook, variant: str, sees: str, making: Making, folder: Path | None, perception: Path | None
    ) -> None:
        self.book = book
        self.variant = variant
        self.sees = sees
        self.making = making
        self.folder = folder
        self.perception = perception
        self._cases: dict[tuple[str, str], dict[int, SceneSet]] = {}

    @property
    def tasks(self) -> int:
        return 1 if self.variant == UNCONFOUNDED else len(self.book.confounders)

    def lot(self, variant: str, split: str, task: int) -> Lot:
        """The scenes of a task, positives and negatives."""
        scenes = self._made(variant, split, task) if self.folder is None else self._read(variant, split, task)
        number = (SPLITS.index(split) * 2 + (variant == UNCONFOUNDED)) * 1000 + task
        return Lot(scenes, self._shown(scenes, number * _LOT))

    def twins(self, lot: Lot, task: int, insert: bool) -> tuple[Lot, Lot] | None:
        """Scenes of a lot that have a twin, and the twins: the confounder taken away, or put in.

        None where there is none: nothing is known of these pictures, or not enough to render them again, or no scene has one.
        """
        pictures_alone = lot.scenes.images is not None and lot.scenes.scenes is None
        if lot.scenes.attributes is None or pictures_alone:
            return None
        found = twin_set(
            lot.scenes,
            self.book,
            task,
            size=self.making.size if lot.scenes.images is None else lot.scenes.images.shape[1],
            backend=self.making.backend,
            insert=insert,
            workers=_cores(),
            tell=_tell,
        )
        if not len(found.twins):
            return None
        originals = lot.take(torch.from_numpy(np.asarray(found.rows)))
        shown = self._shown(found.twins, 0)
        index = originals.images.index
        return originals, Lot(found.twins, ImageSet(shown.images, shown.labels, index, shown.has_cue, shown.features))

    def _made(self, variant: str, split: str, task: int) -> SceneSet:
        making = self.making
        if self.sees == "attributes":
            return attribute_set(self.book, variant, split, task, count=making.counts[split], seed=making.seed)
        return scene_set(
            self.book,
            variant,
            split,
            task,
            count=making.counts[split],
            size=making.size,
            seed=making.seed,
            backend=making.backend,
            workers=_cores(),
            tell=_tell,
        )

    def _read(self, variant: str, split: str, task: int) -> SceneSet:
        assert self.folder is not None
        what = f"{self.folder}: the {split} images of '{variant}'"
        if (variant, split) not in self._cases:
            self._cases[variant, split] = load_case(self.folder, variant, split, self.making.size)
        case = self._cases[variant, split]
        tasks = 1 if variant == UNCONFOUNDED else len(self.book.confounders)
        if set(case) != set(range(tasks)):
            raise InputError(f"{what} are of {_counted(len(case))}, the rules of {_counted(tasks)}: see stream.rules")
        return _first_of_each(case[task], self.making.counts[split], f"{what} in t{task}", split)

    def _shown(self, scenes: SceneSet, first: int) -> ImageSet:
        labels = torch.from_numpy(np.array(scenes.labels, dtype=np.int64))
        features = None
        if scenes.attributes is not None:
            truths = self.book.truths(scenes.attributes, scenes.places)[:, 1:]
            features = torch.from_numpy((truths * (1 << np.arange(truths.shape[1]))).sum(axis=1).astype(np.int64))
        absent = torch.zeros(len(labels), dtype=torch.bool)
        return ImageSet(self._inputs(scenes), labels, first + torch.arange(len(labels)), absent, features)

    def _inputs(self, scenes: SceneSet) -> Tensor:
        if self.sees == "attributes":
            if scenes.attributes is None:
                raise InputError(
                    f"stream.sees is 'attributes', but {self.folder} has no scenes.jsonl to tell them; give 'pixels' or 'slots'"
                )
            return torch.from_numpy(attribute_table(np.asarray(scenes.attributes))).unsqueeze(1)
        assert scenes.images is not None
        pixels = torch.from_numpy(np.ascontiguousarray(np.asarray(scenes.images).transpose(0, 3, 1, 2)))
        if self.sees == "pixels":
            return pixels
        assert self.perception is not None
        return perceived_tables(pixels, self.perception, _tell).unsqueeze(1)


def _first_of_each(scenes: SceneSet, count: int, what: str, split: str) -> SceneSet:
    """The first so many scenes of each class: as many as the configuration says, so that it can be believed."""
    rows = [np.flatnonzero(scenes.labels == label) for label in (1, 0)]
    least = min(map(len, rows))
    if least < count:
        raise InputError(f"{what} are only {least:,} of a class, stream.{split} is {count:,}: give at most {least}")
    return scenes.take(np.sort(np.concatenate([own[:count] for own in rows])))


def _counted(tasks: int) -> str:
    return f"{tasks} task{'' if tasks == 1 else 's'}"


def resolved_making(counts: dict[str, int], size: int, seed: int, backend: str) -> Making:
    """Checked, with a backend that is installed."""
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"stream.{name} is {count}: give at least 1 image per class and task")
    if not 16 <= size <= 1024:
        raise InputError(f"stream.size is {size}: give 16 to 1024 pixels")
    return Making(counts, size, seed, resolve_backend(backend))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
