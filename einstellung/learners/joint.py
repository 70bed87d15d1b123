"""Joint training: all phases shuffled into one set, from random weights: the task without any order of time.

min_theta CE over T1 and T2 together, with the sample budget of both phases: (E_1 |T1| + E_2 |T2|) / (|T1| + |T2|) passes, the
last one cut short where that is not a whole number; the learning rate falls at the same shares of the way. Only T2 images
count for the effective epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from einstellung.learners.learner import Learner, learners
from einstellung.streams.stream import Phase


@learners.register("joint")
class Joint(Learner):
    """One shuffled set, a fresh net."""

    skips_history: ClassVar[bool] = True

    @classmethod
    def cost(cls, options: Any, sizes: Sequence[int], number: int) -> float:
        return sum(sizes) / sizes[number]

    @classmethod
    def passes(cls, sizes: Sequence[int], epochs: Sequence[int]) -> float:
        """The sample budget of all phases, in passes over all of them.

        >>> Joint.passes([200, 100], [50, 50]), Joint.passes([200, 100], [8, 20])
        (50.0, 12.0)
        """
        return sum(size * count for size, count in zip(sizes, epochs, strict=True)) / sum(sizes)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
