"""Plain fine-tuning: every phase is learned on its own data, without any measure against forgetting."""

from __future__ import annotations

from typing import Any

from einstellung.learners.learner import Learner, learners


@learners.register("sgd")
class FineTuning(Learner):
    """Plain fine-tuning on the current phase, from the previous phase's weights: min_theta CE(f_theta(x), y)."""

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True
