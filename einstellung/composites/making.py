"""Composites as a whole: their lots and their layers, made from sources here or read from a folder of finished ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from einstellung.composites.geometry import check_size
from einstellung.composites.groups import CUES, Pattern, check_correlations, patterns
from einstellung.composites.layers import Layers, load_layers
from einstellung.composites.lots import Lot, Numbers, Parts, deal
from einstellung.composites.procedural import COUNTS, PROCEDURAL, procedural
from einstellung.composites.source_folders import find_folder, has_folder, read_folder
from einstellung.composites.sources import BACKGROUND, KINDS, OBJECT, Sources
from einstellung.errors import InputError

PHOTOGRAPHS = "pets-on-scenes"
AUTO = "auto"  # photographs where there are any, procedural sources otherwise


@dataclass(frozen=True)
class Composites:
    """Everything a stream or a folder of composites is made of.

    ``words``: where the pictures come from. ``sources_known``: which parts of two images come from the same source.
    """

    lots: tuple[Lot, ...]
    layers: Layers
    phases: tuple[tuple[float, ...], ...]
    labels: Mapping[str, tuple[str, str]]
    words: str
    sources_known: bool = True

    @property
    def cues(self) -> tuple[str, ...]:
        return CUES[: len(self.phases[0])]

    def values(self, parts: Parts) -> Numbers:
        """The value of every cue in every image, [n, cues], as the sources' own labels tell."""
        known = self.layers.values
        columns = [known[BACKGROUND][parts.backgrounds], known[OBJECT][parts.objects], parts.marks]
        return np.stack(columns[: len(self.cues)], axis=1)

    def rows_of(self, lot: Lot, label: int, pattern: Pattern) -> npt.NDArray[np.int64]:
        """The images of one group of a lot."""
        common = self.values(lot.parts) == lot.labels[:, None]
        return np.flatnonzero((lot.labels == label) & (common == np.array(pattern, dtype=np.bool_)).all(axis=1))

    def counts(self, lot: Lot) -> dict[str, int]:
        """Images of every group, by label and pattern: ``0_11``, ``0_10``, ..."""
        return {
            f"{label}_{''.join(map(str, pattern))}": len(self.rows_of(lot, label, pattern))
            for label in (0, 1)
            for pattern in patterns(len(self.cues))
        }


@dataclass(frozen=True)
class Order:
    """What is asked for: sizes, correlations and numbers of images of each class by split (None: as many as there are)."""

    size: int
    phases: tuple[tuple[float, ...], ...]
    counts: Mapping[str, int | None]
    shared: bool
    seed: int

    def check(self) -> None:
        """A wrong size or correlation is named."""
        check_size(self.size)
        check_correlations(self.phases)


def find_sources(name: str, folder: Path | None, order: Order, first: Sequence[str]) -> Sources:
    """By name (``procedural``, or a folder where data are looked for, or ``auto``) or by their own folder."""
    if folder is not None:
        return read_folder(folder, first)
    if name == AUTO:
        name = PHOTOGRAPHS if has_folder(PHOTOGRAPHS) else PROCEDURAL
    if name != PROCEDURAL:
        return read_folder(find_folder(name), first)
    if first:
        raise InputError("first_labels is for sources in folders: the procedural ones have an order of their own")
    shares = 1 if order.shared else len(order.phases)
    asked = {split: count * (shares if split == "train" else 1) for split, count in order.counts.items() if count}
    return procedural({**COUNTS, **asked})


def make_composites(
    sources: Sources,
    order: Order,
    keep: bool = True,
    heard: Callable[[int, int], object] = lambda done, total: None,
) -> Composites:
    """Lots drawn, and the layers of the sources that they use."""
    order.check()
    lots = deal(sources, order.phases, order.counts, order.shared, order.seed)
    together = Parts.joined([lot.parts for lot in lots])
    used = {kind: np.unique(getattr(together, f"{kind}s")) for kind in KINDS}
    chosen = {kind: [sources.by_kind[kind][number] for number in used[kind]] for kind in KINDS}
    layers = load_layers(chosen, order.size, keep, heard)
    renumbered = tuple(replace(lot, parts=_renumbered(lot.parts, used)) for lot in lots)
    return Composites(renumbered, layers, order.phases, sources.labels, sources.words)


def _renumbered(parts: Parts, used: Mapping[str, Numbers]) -> Parts:
    found = {f"{kind}s": np.searchsorted(used[kind], getattr(parts, f"{kind}s")) for kind in KINDS}
    return replace(parts, **found)
