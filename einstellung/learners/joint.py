"""Joint training: all phases shuffled into one set, from random weights: the task without any order of time.

min_theta CE over all phases together, with the sample budget of all of them: sum_t E_t |T_t| / sum_t |T_t| passes, the last one
cut short where that is not a whole number; the learning rate falls at the same shares of the way. Only the last phase's images
count for the effective epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from einstellung.learners.learner import Learner, Stage, learners
from einstellung.streams.stream import Phase


@learners.register("joint")
class Joint(Learner):
    """One shuffled set, a fresh net."""

    skips_history: ClassVar[bool] = True

    @classmethod
    def cost(cls, options: Any, sizes: Sequence[int], number: int) -> float:
        return sum(sizes) / sizes[number]

    @classmethod
    def stages(cls, options: Any, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        """The sample budget of all phases, in passes over all of them.

        >>> Joint.stages(None, [200, 100], [50, 50], 1)[0].passes, Joint.stages(None, [200, 100], [8, 20], 1)[0].passes
        (50.0, 12.0)
        """
        budget = sum(size * count for size, count in zip(sizes, epochs, strict=True))
        return (Stage("train", budget / sum(sizes)),)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
