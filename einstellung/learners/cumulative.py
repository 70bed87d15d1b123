"""Cumulative training: each phase is learned together with all earlier phases, from the current weights.

T1, then T1 + T2 shuffled into one set: min_theta CE over all images seen up to this phase. The upper limit of replay.
An epoch of T2 is one pass over T1 and T2; only T2 images count for the effective epoch.
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
    """Every epoch is a pass over all images so far."""

    def cost(self, options: Any, sizes: Sequence[int], number: int) -> float:
        return sum(sizes[: number + 1]) / sizes[number]


@learners.register("cumulative")
class Cumulative(Learner):
    """Trains on all images so far, shuffled, starting from the previous phase's weights."""

    workload: ClassVar[Workload] = CumulativeWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
