"""Empirical risk minimisation: plain fine-tuning, under the name that it has where shortcuts are mitigated.

min_theta mean CE(f_theta(x), y). Needs: nothing. What other methods' gaps are compared with.
"""

from __future__ import annotations

from typing import ClassVar

from einstellung.learners.learner import learners
from einstellung.learners.sgd import FineTuning


@learners.register("erm")
class EmpiricalRiskMinimisation(FineTuning):
    """The mean cross entropy."""

    combines: ClassVar[bool] = True
