"""Cumulative training: each phase is learned together with everything that came before it, from the weights so far.

T1, then T1 + T2 shuffled into one set: min_theta CE over all images seen up to this phase. The upper limit of replay.
An epoch of T2 goes through T1 and T2 once; only T2 images count for the effective epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from einstellung.learners.learner import Learner, learners
from einstellung.learners.planning import Workload
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class CumulativeWorkload(Workload):
    """Every phase goes through all images so far."""

    def cost(self, options: Any, sizes: Sequence[int], number: int) -> float:
        return sum(sizes[: number + 1]) / sizes[number]


@learners.register("cumulative")
class Cumulative(Learner):
    """All images so far, shuffled, from the weights of the phase before."""

    workload: ClassVar[Workload] = CumulativeWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
