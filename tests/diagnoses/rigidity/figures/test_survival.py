"""Kaplan-Meier steps."""

from __future__ import annotations

import numpy as np

from einstellung.diagnoses.rigidity.figures.survival import step_at
from einstellung.metrics.survival import SurvivalCurve


def test_steps_hold_until_the_next():
    curve = SurvivalCurve(np.array([0.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.0]))
    assert step_at(curve, np.array([0.0, 1.9, 2.0, 4.9, 5.0, 9.0])).tolist() == [1, 1, 0.5, 0.5, 0, 0]
