"""Where a cue lies in a text or a series: a span of ``size`` places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from einstellung.cues.planted import Habit, check_shares
from einstellung.errors import InputError
from einstellung.options import internal
from einstellung.randomness import uniform_by_index
from einstellung.registry import suggestion

ENDS = ("start", "end")
SPAN_PLACES = (*ENDS, "middle", "per-index", "random")


@dataclass(frozen=True)
class SpanCue:
    """A cue on ``size`` neighbouring places.

    ``place``: ``start``, ``end``, ``middle``, the number of the first place (from 0), ``per-index`` (a place determined by the
    input's index), or ``random`` (as ``per-index`` in evaluation, and a new place at every presentation in training).
    ``share``, ``share_nsc`` and ``habit``: as for the patch. ``away``: on the opposite side of its place.
    """

    size: int = 1
    place: str | int = "start"
    share: float = 1.0
    share_nsc: float = 0.0
    habit: Habit = "none"
    away: bool = internal(False)

    def __post_init__(self) -> None:
        check_shares(self)
        if self.size < 1:
            raise InputError(f"cue.size is {self.size}: it must be at least 1")
        if isinstance(self.place, str) and self.place not in SPAN_PLACES:
            raise InputError(
                f"cue.place '{self.place}' is unknown: {suggestion(self.place, SPAN_PLACES)}, or the number of a place"
            )
        if not isinstance(self.place, str) and self.place < 0:
            raise InputError(f"cue.place is {self.place}: places count from 0")

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        return span(self.first(index, width), self.size, width)

    def first(self, index: Tensor, width: int, generator: torch.Generator | None = None) -> Tensor:
        """The first place of the cue in each of the inputs, which are ``width`` long."""
        usual = self._usual_first(index, width, generator)
        return displaced(usual, self.size, width) if self.away else usual

    def _usual_first(self, index: Tensor, width: int, generator: torch.Generator | None) -> Tensor:
        last = width - self.size
        if last < 0:
            raise InputError(f"cue.size {self.size} does not fit into inputs of length {width}")
        if self.place == "random" and generator is not None:
            return (torch.rand(len(index), generator=generator, dtype=torch.float64) * (last + 1)).long()
        if self.place in ("per-index", "random"):
            return (uniform_by_index(index, salt=1) * (last + 1)).long()
        if isinstance(self.place, int) and self.place > last:
            raise InputError(f"cue.place {self.place} puts {self.size} places outside inputs of length {width}")
        known = {"start": 0, "end": last, "middle": last // 2}
        return torch.full((len(index),), known[self.place] if isinstance(self.place, str) else self.place)

    def elsewhere(self) -> Self:
        """The same cue on the opposite side of its place."""
        return replace(self, away=not self.away)


def displaced(first: Tensor, size: int, width: int) -> Tensor:
    """The first place of a span mirrored through the middle; at the farther end where that would overlap.

    >>> displaced(torch.tensor([0, 3, 4]), 2, 10).tolist()
    [8, 5, 0]
    """
    last = width - size
    mirrored = last - first
    far = torch.where(2 * first < last, last, 0)
    return torch.where((mirrored - first).abs() < size, far, mirrored)


def span(first: Tensor, size: int, width: int) -> Tensor:
    """bool [N, 1, 1, width]: the places from ``first`` on.

    >>> span(torch.tensor([1]), 2, 4).int().tolist()
    [[[[0, 1, 1, 0]]]]
    """
    places, first = torch.arange(width).view(1, 1, 1, -1), first.view(-1, 1, 1, 1)
    return (places >= first) & (places < first + size)
