"""Cumulative training: each phase is learned together with everything that came before it, from the weights so far.

T1, then T1 + T2 shuffled into one set: min_theta CE over all images seen up to this phase. What memory without limit can do.
An epoch of T2 goes through T1 and T2 once; only T2 images count for the effective epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einstellung.learners.learner import Learner, learners
from einstellung.streams.stream import Phase


@learners.register("cumulative")
class Cumulative(Learner):
    """All images so far, shuffled, from the weights of the phase before."""

    @classmethod
    def cost(cls, options: Any, sizes: Sequence[int], number: int) -> float:
        return sum(sizes[: number + 1]) / sizes[number]

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
