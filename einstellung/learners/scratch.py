"""A new net for every phase: each phase learned without the others.

min_theta CE(f_theta(x), y) on the current phase, from the run's initial weights; the first phase is plain fine-tuning.
The baseline of every phase in a stream of many; that of the last phase alone is ``scratch_t2``. With one more phase behind each:
``scratch_pair``.
"""

from __future__ import annotations

from typing import Any

from einstellung.learners.learner import Learner, learners
from einstellung.streams.stream import Phase


@learners.register("scratch")
class Scratch(Learner):
    """Trains a new net for every phase."""

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def begin_phase(self, phase: Phase) -> None:
        self.reinitialise()
        super().begin_phase(phase)
