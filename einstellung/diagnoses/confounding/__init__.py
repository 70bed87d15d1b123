"""Confounded tasks: does a learner find the ground truth, or one confounder after the other?"""

from einstellung.diagnoses.confounding.diagnosis import Confounding

diagnosis = Confounding

__all__ = ["diagnosis"]
