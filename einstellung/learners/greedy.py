"""Greedy balanced buffers: which images of a stream to keep so that all groups are equally large.

A buffer holds rows only, and they depend on nothing but the images' groups and the seed: a resumed run fills its buffer with
the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase


class GreedyBuffer:
    """Algorithm 1 of GDumb (Prabhu et al., 2020): with G groups known, each may hold capacity / G images.

    An image of a new group, or of one that holds fewer, is added; in a full buffer it replaces a random image of the largest
    group, with ties broken at random.

    >>> buffer, draws = GreedyBuffer(4), torch.Generator().manual_seed(0)
    >>> for row, group in enumerate("aaaaaabbb"):
    ...     buffer.offer(row, group, draws)
    >>> {group: len(rows) for group, rows in buffer.rows.items()}
    {'a': 2, 'b': 2}
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows: dict[Hashable, list[int]] = {}
        self._held = 0

    def __len__(self) -> int:
        return self._held

    def offer(self, row: int, group: Hashable, draws: torch.Generator) -> None:
        """Offer an image to the buffer."""
        if group in self.rows and not self.wants(len(self.rows[group])):
            return
        if self._held == self.capacity:
            self._make_room(draws)
        self.rows.setdefault(group, []).append(row)
        self._held += 1

    def wants(self, held: int) -> bool:
        """Whether a known group with ``held`` images accepts another one."""
        return held < self.capacity / len(self.rows)

    def _make_room(self, draws: torch.Generator) -> None:
        most = max(map(len, self.rows.values()))
        largest = [rows for rows in self.rows.values() if len(rows) == most]
        rows = largest[_one_of(len(largest), draws)]
        rows.pop(_one_of(len(rows), draws))
        self._held -= 1


class LevelBuffer(GreedyBuffer):
    """Levels the groups: only a smaller group replaces images of the largest one; the others use what a small group cannot fill.

    In the end, a group with at least two images fewer than the largest one holds all of its images that were ever offered.

    >>> buffer, draws = LevelBuffer(5), torch.Generator().manual_seed(0)
    >>> for row, group in enumerate("abababaaccc"):
    ...     buffer.offer(row, group, draws)
    >>> sorted(len(rows) for rows in buffer.rows.values())
    [1, 2, 2]
    """

    def wants(self, held: int) -> bool:
        return self._held < self.capacity or held < max(map(len, self.rows.values()))


def fill(
    buffer: GreedyBuffer, phases: Sequence[Phase], groups_of: Callable[[Phase], Sequence[Hashable]], seed: int
) -> Tensor:
    """Rows of the concatenated phases that stay in the buffer after all images were offered, each phase's in a random order."""
    start = 0
    for phase in phases:
        draws, groups = generator(seed, "buffer-phase", phase.name), groups_of(phase)
        for row in torch.randperm(len(phase.train), generator=draws).tolist():
            buffer.offer(start + row, groups[row], draws)
        start += len(phase.train)
    return torch.tensor(sorted(row for rows in buffer.rows.values() for row in rows), dtype=torch.long)


def classes_of(phase: Phase) -> list[tuple[str, int]]:
    """A group for every class of the phase; the same class in two phases is two groups."""
    return [(phase.name, label) for label in phase.train.labels.tolist()]


def take_from(phases: Sequence[Phase], rows: Tensor) -> ImageSet:
    """Rows of the concatenated phases, in order, without concatenating the rest."""
    parts, start = [], 0
    for phase in phases:
        own = rows[(rows >= start) & (rows < start + len(phase.train))] - start
        parts.append(phase.train.take(own))
        start += len(phase.train)
    return ImageSet.joined(parts)


def own_share(buffer: int, sizes: Sequence[int], number: int) -> float:
    """About how many of a buffer's images belong to phase ``number``, as a share of that phase, for estimates of time.

    >>> own_share(100, [6000, 6000, 5000], 0), own_share(100, [6000, 6000, 5000], 1), own_share(100, [30, 50], 1)
    (0.016666666666666666, 0.008333333333333333, 0.8)
    """
    return min(buffer, sum(sizes[: number + 1])) / (number + 1) / sizes[number]


def _one_of(count: int, draws: torch.Generator) -> int:
    return int(torch.randint(count, (1,), generator=draws))
