"""Our calibration measures against netcal's and scikit-learn's; netcal needs pyro and gpytorch, so they are compared here."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.metrics.calibration import Binning, brier_scores, expected_calibration_error, softmax


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("binning", ["width", "mass"])
def test_calibration_errors_agree_with_netcal(seed: int, binning: Binning):
    """netcal's bins of equal mass end at quantiles: with a multiple of 15 images, all have as many, as ours have."""
    from netcal.metrics import ECE

    draws = np.random.default_rng(seed)
    confidence = draws.uniform(0.1, 1, 300)
    correct = draws.random(300) < confidence**2
    theirs = ECE(15, equal_intervals=binning == "width").measure(confidence, correct.astype(int))
    assert expected_calibration_error(confidence, correct, binning) == pytest.approx(theirs)


@pytest.mark.parametrize("classes", [2, 5])
def test_brier_scores_agree_with_scikit_learn(classes: int):
    """Over classes, scikit-learn's score of each class against the rest adds up to ours."""
    from sklearn.metrics import brier_score_loss

    draws = np.random.default_rng(classes)
    probabilities, labels = softmax(draws.normal(size=(200, classes))), draws.integers(classes, size=200)
    theirs = sum(brier_score_loss(labels == label, probabilities[:, label]) for label in range(classes))
    assert brier_scores(probabilities, labels).mean() == pytest.approx(theirs)
