"""Empirical risk minimisation: plain fine-tuning under its name in the mitigation literature.

min_theta mean CE(f_theta(x), y). Needs: nothing. The reference for other methods' gaps.
"""

from __future__ import annotations

from typing import ClassVar

from einstellung.learners.learner import learners
from einstellung.learners.sgd import FineTuning


@learners.register("erm")
class EmpiricalRiskMinimisation(FineTuning):
    """Plain training with the mean cross entropy."""

    combines: ClassVar[bool] = True
