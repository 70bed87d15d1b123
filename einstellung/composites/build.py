"""Build composites: the plans of all sets, and the layers of the sources they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from einstellung.composites.geometry import check_size
from einstellung.composites.groups import CUES, CuePattern, check_correlations, patterns
from einstellung.composites.layers import CompositeLayers, load_layers
from einstellung.composites.procedural import COUNTS, PROCEDURAL, procedural
from einstellung.composites.source_folders import find_folder, has_folder, read_folder
from einstellung.composites.sources import BACKGROUND, KINDS, OBJECT, SourceSet
from einstellung.composites.split_plan import Numbers, Parts, SplitPlan, plan_splits
from einstellung.errors import InputError

PHOTOGRAPHS = "pets-on-scenes"
AUTO = "auto"  # photographs if they are found, procedural sources otherwise


@dataclass(frozen=True)
class Composites:
    """Everything a stream or a folder of composites consists of.

    ``words`` describes the origin of the images. ``sources_known``: whether it is known which images share a source.
    """

    plans: tuple[SplitPlan, ...]
    layers: CompositeLayers
    phases: tuple[tuple[float, ...], ...]
    labels: Mapping[str, tuple[str, str]]
    words: str
    sources_known: bool = True

    @property
    def cues(self) -> tuple[str, ...]:
        return CUES[: len(self.phases[0])]

    def values(self, parts: Parts) -> Numbers:
        """The value of every cue in every image [n, cues], from the labels of the sources."""
        known = self.layers.values
        columns = [known[BACKGROUND][parts.backgrounds], known[OBJECT][parts.objects], parts.marks]
        return np.stack(columns[: len(self.cues)], axis=1)

    def group_rows(self, plan: SplitPlan, label: int, pattern: CuePattern) -> npt.NDArray[np.int64]:
        """The rows of one group in a plan."""
        common = self.values(plan.parts) == plan.labels[:, None]
        return np.flatnonzero((plan.labels == label) & (common == np.array(pattern, dtype=np.bool_)).all(axis=1))

    def counts(self, plan: SplitPlan) -> dict[str, int]:
        """The number of images in every group, by label and pattern: ``0_11``, ``0_10``, ..."""
        return {
            f"{label}_{''.join(map(str, pattern))}": len(self.group_rows(plan, label, pattern))
            for label in (0, 1)
            for pattern in patterns(len(self.cues))
        }


@dataclass(frozen=True)
class CompositeSpec:
    """What to build. ``counts``: images per class by split, None for as many as the sources allow."""

    size: int
    phases: tuple[tuple[float, ...], ...]
    counts: Mapping[str, int | None]
    shared: bool
    seed: int

    def check(self) -> None:
        """Refuse a wrong size or correlation."""
        check_size(self.size)
        check_correlations(self.phases)


def find_sources(name: str, folder: Path | None, spec: CompositeSpec, first: Sequence[str]) -> SourceSet:
    """Find sources by name (``procedural``, a folder in the data places, or ``auto``) or in ``folder``."""
    if folder is not None:
        return read_folder(folder, first)
    if name == AUTO:
        name = PHOTOGRAPHS if has_folder(PHOTOGRAPHS) else PROCEDURAL
    if name != PROCEDURAL:
        return read_folder(find_folder(name), first)
    if first:
        raise InputError("first_labels is for sources in folders: procedural sources have a fixed order")
    shares = 1 if spec.shared else len(spec.phases)
    asked = {split: count * (shares if split == "train" else 1) for split, count in spec.counts.items() if count}
    return procedural({**COUNTS, **asked})


def build_composites(
    sources: SourceSet,
    spec: CompositeSpec,
    keep: bool = True,
    on_progress: Callable[[int, int], object] = lambda done, total: None,
) -> Composites:
    """Plan all sets, and load the layers of the sources they use."""
    spec.check()
    plans = plan_splits(sources, spec.phases, spec.counts, spec.shared, spec.seed)
    together = Parts.joined([plan.parts for plan in plans])
    used = {kind: np.unique(getattr(together, f"{kind}s")) for kind in KINDS}
    used_sources = {kind: [sources.by_kind[kind][number] for number in used[kind]] for kind in KINDS}
    layers = load_layers(used_sources, spec.size, keep, on_progress)
    renumbered = tuple(replace(plan, parts=_renumbered(plan.parts, used)) for plan in plans)
    return Composites(renumbered, layers, spec.phases, sources.labels, sources.words)


def _renumbered(parts: Parts, used: Mapping[str, Numbers]) -> Parts:
    found = {f"{kind}s": np.searchsorted(used[kind], getattr(parts, f"{kind}s")) for kind in KINDS}
    return replace(parts, **found)
