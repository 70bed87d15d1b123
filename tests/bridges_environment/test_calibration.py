"""Our calibration error against netcal's; it needs pyro, gpytorch and scikit-learn, so it is compared here."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.metrics.calibration import expected_calibration_error


@pytest.mark.parametrize("seed", range(5))
def test_equal_width_agrees_with_netcal(seed):
    from netcal.metrics import ECE

    draws = np.random.default_rng(seed)
    confidence = draws.uniform(0.1, 1, 300)
    correct = draws.random(300) < confidence**2
    assert expected_calibration_error(confidence, correct) == pytest.approx(
        ECE(15).measure(confidence, correct.astype(int))
    )
