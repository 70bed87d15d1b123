"""Plain fine-tuning: every phase is learned on its own data, and nothing is done against forgetting."""

from __future__ import annotations

from typing import Any

from einstellung.learners.learner import Learner, learners


@learners.register("sgd")
class FineTuning(Learner):
    """min_theta CE(f_theta(x), y) on the current phase, from the weights of the phase before."""

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True
