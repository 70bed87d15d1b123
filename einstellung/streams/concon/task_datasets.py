"""The datasets of a ConCon stream's tasks, as a net gets them: pixels, the scenes' attributes, or perceived slots."""

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
from einstellung.scenes.store import SceneSet, attribute_set, scene_entry, scene_set
from einstellung.scenes.tables import attribute_table
from einstellung.scenes.twin_sets import twin_set
from einstellung.scenes.work_chunks import RenderSettings
from einstellung.sources.cache import is_stored
from einstellung.sources.stand_ins import assume
from einstellung.streams.stream import ImageSet

UNCONFOUNDED = "unconfounded"
SPLITS = ("train", "val", "test")
_INDEX_STRIDE = 10**7  # every split of every task has its own range of identities


@dataclass(frozen=True)
class SceneOptions:
    """How scenes are generated and rendered; ``counts``: images per class and task by split."""

    counts: dict[str, int]
    size: int
    seed: int
    backend: str


@dataclass(frozen=True)
class TaskSplit:
    """One split of one task: its scenes, and the inputs of a net in the same order."""

    scenes: SceneSet
    images: ImageSet

    def take(self, rows: Tensor) -> TaskSplit:
        return TaskSplit(self.scenes.take(rows.numpy()), self.images.take(rows))

    def of_label(self, label: int) -> TaskSplit:
        return self.take((self.images.labels == label).nonzero().flatten())

    def first(self, count: int) -> TaskSplit:
        """The first ``count`` of each class."""
        rows = [(self.images.labels == label).nonzero().flatten()[:count] for label in (1, 0)]
        return self.take(torch.cat(rows))


class TaskDatasets:
    """The splits of all tasks of a variant: rendered and cached, or read from a folder."""

    def __init__(
        self,
        book: RuleBook,
        variant: str,
        input_modality: str,
        options: SceneOptions,
        folder: Path | None,
        perception: Path | None,
    ) -> None:
        self.book = book
        self.variant = variant
        self.input_modality = input_modality
        self.options = options
        self.folder = folder
        self.perception = perception
        self._cases: dict[tuple[str, str], dict[int, SceneSet]] = {}

    @property
    def tasks(self) -> int:
        return 1 if self.variant == UNCONFOUNDED else len(self.book.confounders)

    def split(self, variant: str, split: str, task: int) -> TaskSplit:
        """The positives and negatives of a task."""
        load = self._generated if self.folder is None else self._read
        scenes = load(variant, split, task)
        number = (SPLITS.index(split) * 2 + (variant == UNCONFOUNDED)) * 1000 + task
        return TaskSplit(scenes, self._image_set(scenes, number * _INDEX_STRIDE))

    def twins(self, split: TaskSplit, task: int, insert: bool) -> tuple[TaskSplit, TaskSplit] | None:
        """The scenes that have a twin, and their twins, with the confounder inserted or removed.

        None if no scene has a twin, or if the images come without records or layouts to render twins from.
        """
        has_no_layout = split.scenes.images is not None and split.scenes.scenes is None
        if split.scenes.attributes is None or has_no_layout:
            return None
        found = twin_set(
            split.scenes,
            self.book,
            task,
            size=self.options.size if split.scenes.images is None else split.scenes.images.shape[1],
            backend=self.options.backend,
            insert=insert,
            workers=_cores(),
            log=_log,
        )
        if not len(found.twins):
            return None
        originals = split.take(torch.from_numpy(np.asarray(found.rows)))
        twins = self._image_set(found.twins, 0)
        index = originals.images.index
        return originals, TaskSplit(
            found.twins, ImageSet(twins.images, twins.labels, index, twins.has_cue, twins.features)
        )

    def _generated(self, variant: str, split: str, task: int) -> SceneSet:
        options = self.options
        if self.input_modality == "attributes" or self._stands_in(variant, split, task):
            return attribute_set(self.book, variant, split, task, count=options.counts[split], seed=options.seed)
        return scene_set(
            self.book,
            variant,
            split,
            task,
            count=options.counts[split],
            size=options.size,
            seed=options.seed,
            backend=options.backend,
            workers=_cores(),
            log=_log,
        )

    def _stands_in(self, variant: str, split: str, task: int) -> bool:
        """Whether a plan goes without the images of a split, which are not rendered yet."""
        options = self.options
        settings = RenderSettings(self.book, options.size, options.seed, options.backend)
        rendered = is_stored(scene_entry(settings, variant, split, task, options.counts[split]))
        side = options.size
        return (
            self.input_modality == "pixels"
            and not rendered
            and assume(
                f"scenes are not rendered yet, which takes time once: noise in the place of their images, {side}x{side}"
            )
        )

    def _read(self, variant: str, split: str, task: int) -> SceneSet:
        assert self.folder is not None
        what = f"{self.folder}: the {split} images of '{variant}'"
        if (variant, split) not in self._cases:
            self._cases[variant, split] = load_case(self.folder, variant, split, self.options.size)
        case = self._cases[variant, split]
        tasks = 1 if variant == UNCONFOUNDED else len(self.book.confounders)
        if set(case) != set(range(tasks)):
            raise InputError(
                f"{what} have {_counted(len(case))}, but the rules have {_counted(tasks)}: check stream.rules"
            )
        return _first_of_each(case[task], self.options.counts[split], f"{what} in t{task}", split)

    def _image_set(self, scenes: SceneSet, first: int) -> ImageSet:
        labels = torch.from_numpy(np.array(scenes.labels, dtype=np.int64))
        features = None
        if scenes.attributes is not None:
            truths = self.book.truths(scenes.attributes, scenes.places)[:, 1:]
            features = torch.from_numpy((truths * (1 << np.arange(truths.shape[1]))).sum(axis=1).astype(np.int64))
        no_cue = torch.zeros(len(labels), dtype=torch.bool)
        return ImageSet(self._inputs(scenes), labels, first + torch.arange(len(labels)), no_cue, features)

    def _inputs(self, scenes: SceneSet) -> Tensor:
        if self.input_modality == "attributes":
            if scenes.attributes is None:
                raise InputError(
                    f"stream.input_modality is 'attributes', but {self.folder} has no scenes.jsonl: give 'pixels' or 'slots'"
                )
            return torch.from_numpy(attribute_table(np.asarray(scenes.attributes))).unsqueeze(1)
        if scenes.images is None:  # a stand-in: one image of noise, which takes no memory for the others
            side = self.options.size
            noise = torch.randint(
                256, (1, 3, side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
            )
            return noise.expand(len(scenes), -1, -1, -1)
        pixels = torch.from_numpy(np.ascontiguousarray(np.asarray(scenes.images).transpose(0, 3, 1, 2)))
        if self.input_modality == "pixels":
            return pixels
        assert self.perception is not None
        return perceived_tables(pixels, self.perception, _log).unsqueeze(1)


def resolved_options(counts: dict[str, int], size: int, seed: int, backend: str) -> SceneOptions:
    """Check the options, and choose an installed backend."""
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"stream.{name} is {count}: give at least 1 image per class and task")
    if not 16 <= size <= 1024:
        raise InputError(f"stream.size is {size}: give 16 to 1024 pixels")
    return SceneOptions(counts, size, seed, resolve_backend(backend))


def _first_of_each(scenes: SceneSet, count: int, what: str, split: str) -> SceneSet:
    """The first ``count`` scenes of each class; fewer are an error, so that the configuration matches the data."""
    rows = [np.flatnonzero(scenes.labels == label) for label in (1, 0)]
    fewest = min(map(len, rows))
    if fewest < count:
        raise InputError(f"{what}: only {fewest:,} per class, but stream.{split} is {count:,}: give at most {fewest}")
    return scenes.take(np.sort(np.concatenate([own[:count] for own in rows])))


def _counted(tasks: int) -> str:
    return f"{tasks} task{'' if tasks == 1 else 's'}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
