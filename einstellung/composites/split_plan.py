"""Plans of which sources are combined: one plan for the training images of each phase, one for validation, one for the test.

A plan uses every target and every background once, and objects many times, about equally often. Splits have separate sources.
Phases have separate targets and backgrounds, unless they are shared: then every phase pairs the same ones in a new way. Training
objects, which are few, are used in every phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from einstellung.composites.groups import check_correlations, group_counts, is_even
from einstellung.composites.randomness import numpy_generator
from einstellung.composites.sources import BACKGROUND, OBJECT, SPLITS, TARGET, SourceSet
from einstellung.errors import InputError

NONE = -1  # no background (a flat colour instead), or no object

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """The sources of composites, by number; ``marks`` is 1 where the watermark is applied."""

    targets: Numbers
    backgrounds: Numbers
    objects: Numbers
    marks: Numbers

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Parts:
        return Parts(*(getattr(self, field.name)[rows] for field in fields(self)))

    @staticmethod
    def joined(some: Sequence[Parts]) -> Parts:
        return Parts(*(np.concatenate([getattr(one, field.name) for one in some]) for field in fields(Parts)))


@dataclass(frozen=True)
class SplitPlan:
    """The composites of one set, called T1, T2, ... (training), val or test."""

    name: str
    labels: Numbers
    parts: Parts


def plan_splits(
    sources: SourceSet, phases: Sequence[Sequence[float]], counts: Mapping[str, int | None], shared: bool, seed: int
) -> list[SplitPlan]:
    """Plan the training sets of all phases, then validation and test, which are balanced.

    ``counts``: images per class (and phase) by split; None: as many as the sources allow.
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more")
    for split, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{split} is {count}: give at least 1 image per class")
    cues = check_correlations(phases)
    sizes = _sizes(sources, counts, 1 if shared else len(phases), phases)
    plans = []
    for number, correlations in enumerate(phases):
        offset = 0 if shared else number
        pairing = f"T{number + 1}"
        plans.append(
            _plan_split(
                sources, pairing, "train", sizes["train"], offset, correlations, pairing if shared else "", seed
            )
        )
    balanced = (0.5,) * cues
    return plans + [
        _plan_split(sources, split, split, sizes[split], 0, balanced, "", seed) for split in ("val", "test")
    ]


def _plan_split(
    sources: SourceSet,
    name: str,
    split: str,
    count: int,
    offset: int,
    correlations: Sequence[float],
    pairing: str,
    seed: int,
) -> SplitPlan:
    """``offset``: number of earlier phases that took their share; ``pairing``: the phase's name if it has its own shuffle."""
    share = slice(offset * count, (offset + 1) * count)
    groups = group_counts(count, correlations)
    targets, backgrounds = (
        [
            numpy_generator(seed, kind, split, value, pairing).permutation(sources.numbers(kind, split, value))[share]
            for value in (0, 1)
        ]
        for kind in (TARGET, BACKGROUND)
    )
    objects = [
        _balanced_sample(sources.numbers(OBJECT, split, value), count, numpy_generator(seed, OBJECT, name, value))
        for value in (0, 1)
    ]
    used = {kind: [0, 0] for kind in (BACKGROUND, OBJECT)}

    def next_of(kind: str, pool: list[Numbers], value: int, number: int) -> Numbers:
        start = used[kind][value]
        used[kind][value] += number
        return pool[value][start : start + number]

    labels, parts = [], []
    for label in (0, 1):
        of_label = 0
        for pattern, number in groups.items():
            values = [label if common else 1 - label for common in pattern]
            parts.append(
                Parts(
                    targets[label][of_label : of_label + number],
                    next_of(BACKGROUND, backgrounds, values[0], number),
                    next_of(OBJECT, objects, values[1], number),
                    np.full(number, values[2] if len(values) > 2 else 0, dtype=np.int64),
                )
            )
            labels.append(np.full(number, label, dtype=np.int64))
            of_label += number
    order = numpy_generator(seed, "order", name).permutation(2 * count)
    return SplitPlan(name, np.concatenate(labels)[order], Parts.joined(parts).take(order))


def _balanced_sample(pool: Numbers, count: int, rng: np.random.Generator) -> Numbers:
    """``count`` elements of the pool; their frequencies differ by at most one."""
    rounds = -(-count // len(pool))
    return np.concatenate([rng.permutation(pool) for _ in range(rounds)])[:count]


def _sizes(
    sources: SourceSet, counts: Mapping[str, int | None], shares: int, phases: Sequence[Sequence[float]]
) -> dict[str, int]:
    """Images per class of every split, as requested or as many as the sources allow."""
    groups = 2 ** len(phases[0])
    sizes = {}
    for split in SPLITS:
        available = {
            sources.words_of(kind, value): len(sources.numbers(kind, split, value))
            for kind in (TARGET, BACKGROUND)
            for value in (0, 1)
        }
        for value in (0, 1):
            if not len(sources.numbers(OBJECT, split, value)):
                raise InputError(f"there are no {sources.words_of(OBJECT, value)} for {split}: add at least one")
        scarcest = min(available, key=lambda words: available[words])
        parts = shares if split == "train" else 1
        requested = counts[split]
        if requested is None and available[scarcest] // parts < groups:
            raise InputError(
                f"there are only {available[scarcest]} {scarcest} for {split}: {parts * groups} are needed, one per group"
            )
        distributions = phases if split == "train" else [(0.5,) * len(phases[0])]
        size = _largest_even(available[scarcest] // parts, distributions) if requested is None else requested
        if split != "train" and size % groups:
            raise InputError(
                f"{split} is {size} images per class: give a multiple of {groups}, so that all groups have the same size"
            )
        if size * parts > available[scarcest]:
            each = f" in each of {parts} phases" if parts > 1 else ""
            raise InputError(
                f"{split} is {size} images per class{each}, but only {available[scarcest]} {scarcest} exist: give fewer"
            )
        sizes[split] = size
    return sizes


def _largest_even(most: int, distributions: Sequence[Sequence[float]]) -> int:
    """The largest size at which groups with equal shares have equal sizes, if it is close to ``most``; else ``most``."""
    groups = 2 ** len(distributions[0])
    near = range(most, max(most - 2 * groups, groups - 1), -1)
    return next((size for size in near if all(is_even(size, law) for law in distributions)), most)
