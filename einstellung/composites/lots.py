"""Who is put together with whom: the lots of a stream, each for the training of a phase, for validation or for the test.

Every target and every background is used once in a lot, objects many times, each about as often as the others. A split has
sources of its own. A phase has targets and backgrounds of its own, unless they are shared: then every phase pairs the same ones
anew; the training objects, which are few, come in every phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from einstellung.composites.chance import draws
from einstellung.composites.groups import check_correlations, group_counts, is_even
from einstellung.composites.sources import BACKGROUND, OBJECT, SPLITS, TARGET, Sources
from einstellung.errors import InputError

NONE = -1  # no background (a flat colour instead), no object

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """What composites are made of, by the number of each source; ``marks``: 1 where the watermark is on it."""

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
class Lot:
    """Composites of a phase's training, of validation or of the test; ``name`` says which: T1, T2, ..., val, test."""

    name: str
    labels: Numbers
    parts: Parts


def deal(
    sources: Sources, phases: Sequence[Sequence[float]], counts: Mapping[str, int | None], shared: bool, seed: int
) -> list[Lot]:
    """The lots of all phases, then validation and test, both balanced.

    ``counts``: images of each class, by split, of each phase; None for as many as there are.
    """
    if seed < 0:
        raise InputError(f"seed is {seed}: it must not be negative")
    for split, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{split} is {count}: give at least 1 image of each class")
    cues = check_correlations(phases)
    sizes = _sizes(sources, counts, 1 if shared else len(phases), phases)
    lots = []
    for number, correlations in enumerate(phases):
        turn = 0 if shared else number
        pairing = f"T{number + 1}"
        lots.append(
            _lot(sources, pairing, "train", sizes["train"], turn, correlations, pairing if shared else "", seed)
        )
    balanced = (0.5,) * cues
    return lots + [_lot(sources, split, split, sizes[split], 0, balanced, "", seed) for split in ("val", "test")]


def _lot(
    sources: Sources,
    name: str,
    split: str,
    count: int,
    turn: int,
    correlations: Sequence[float],
    pairing: str,
    seed: int,
) -> Lot:
    """``turn``: how many phases have taken their share before; ``pairing`` names a phase that shuffles by itself."""
    dealt = slice(turn * count, (turn + 1) * count)
    groups = group_counts(count, correlations)
    targets, backgrounds = (
        [
            draws(seed, kind, split, value, pairing).permutation(sources.numbers(kind, split, value))[dealt]
            for value in (0, 1)
        ]
        for kind in (TARGET, BACKGROUND)
    )
    objects = [
        _repeated(sources.numbers(OBJECT, split, value), count, draws(seed, OBJECT, name, value)) for value in (0, 1)
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
    order = draws(seed, "order", name).permutation(2 * count)
    return Lot(name, np.concatenate(labels)[order], Parts.joined(parts).take(order))


def _repeated(pool: Numbers, count: int, chance: np.random.Generator) -> Numbers:
    """``count`` of the pool, each as often as the others or once more."""
    rounds = -(-count // len(pool))
    return np.concatenate([chance.permutation(pool) for _ in range(rounds)])[:count]


def _sizes(
    sources: Sources, counts: Mapping[str, int | None], shares: int, phases: Sequence[Sequence[float]]
) -> dict[str, int]:
    """Images of each class in a lot of every split, as asked, or as many as there are sources for."""
    groups = 2 ** len(phases[0])
    sizes = {}
    for split in SPLITS:
        there = {
            sources.words_of(kind, value): len(sources.numbers(kind, split, value))
            for kind in (TARGET, BACKGROUND)
            for value in (0, 1)
        }
        for value in (0, 1):
            if not len(sources.numbers(OBJECT, split, value)):
                raise InputError(f"there are no {sources.words_of(OBJECT, value)} for {split}: add at least one")
        scarce = min(there, key=lambda words: there[words])
        parts = shares if split == "train" else 1
        asked = counts[split]
        if asked is None and there[scarce] // parts < groups:
            raise InputError(
                f"there are only {there[scarce]} {scarce} for {split}: {parts * groups} are needed, one for every group"
            )
        laws = phases if split == "train" else [(0.5,) * len(phases[0])]
        size = _as_many(there[scarce] // parts, laws) if asked is None else asked
        if split != "train" and size % groups:
            raise InputError(
                f"{split} is {size} images of a class: give a multiple of {groups}, as all groups are of one size"
            )
        if size * parts > there[scarce]:
            each = f" in each of {parts} phases" if parts > 1 else ""
            raise InputError(
                f"{split} is {size} images of a class{each}, but there are only {there[scarce]} {scarce} for it: give fewer"
            )
        sizes[split] = size
    return sizes


def _as_many(most: int, laws: Sequence[Sequence[float]]) -> int:
    """The largest number that gives groups with equal shares equal sizes, if a slightly smaller one does; else the largest."""
    groups = 2 ** len(laws[0])
    near = range(most, max(most - 2 * groups, groups - 1), -1)
    return next((size for size in near if all(is_even(size, law) for law in laws)), most)
