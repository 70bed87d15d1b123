"""A new net for every phase: how each phase of a stream is learned without the others.

min_theta CE(f_theta(x), y) on the current phase, from the weights that the run began with; the first phase is plain fine-tuning.
The baseline of a stream of many phases; that of the last phase alone is ``scratch_t2``.
"""

from __future__ import annotations

from typing import Any

from einstellung.learners.learner import Learner, learners
from einstellung.streams.stream import Phase


@learners.register("scratch")
class Scratch(Learner):
    """Nothing is carried over between phases."""

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def begin_phase(self, phase: Phase) -> None:
        self.reinitialise()
        super().begin_phase(phase)
