"""Calibration: by hand, against a second implementation by loops, and what must hold for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from einstellung.metrics.calibration import Bin, brier_scores, expected_calibration_error, reliability, softmax

DRAWS = np.random.default_rng(3)
ANSWERS = st.lists(st.tuples(st.floats(0.01, 1), st.booleans()), min_size=1, max_size=60)


def by_loops(confidence, correct, bins=15):
    """ECE with bins (k / 15, (k + 1) / 15], one image at a time."""
    sums = {}
    for c, right in zip(confidence, correct, strict=True):
        number = next(k for k in range(bins) if c <= (k + 1) / bins or k == bins - 1)
        n, total, hits = sums.get(number, (0, 0.0, 0))
        sums[number] = (n + 1, total + c, hits + bool(right))
    return sum(abs(total - hits) for _, total, hits in sums.values()) / len(confidence)


def test_two_bins_by_hand():
    confidence, correct = [0.1, 0.3, 0.5, 0.9], [False, True, False, True]
    low, high = reliability(confidence, correct, bins=2)
    assert (low.n, low.accuracy, high) == (3, pytest.approx(1 / 3), Bin(1, 0.9, 1.0))  # 0.5 belongs to the lower one
    assert low.confidence == pytest.approx(0.3)
    assert expected_calibration_error(confidence, correct, bins=2) == pytest.approx(3 / 4 * (1 / 3 - 0.3) + 1 / 4 * 0.1)


def test_bins_of_equal_mass_by_hand():
    confidence, correct = [0.9, 0.2, 0.8, 0.3, 0.95], [True, False, True, True, False]
    first, second = reliability(confidence, correct, "mass", bins=2)
    assert (first.n, second.n) == (3, 2)
    assert (first.accuracy, second.accuracy) == (pytest.approx(2 / 3), 0.5)
    expected = 3 / 5 * abs(2 / 3 - 1.3 / 3) + 2 / 5 * abs(0.5 - 0.925)
    assert expected_calibration_error(confidence, correct, "mass", bins=2) == pytest.approx(expected)


@settings(max_examples=80, deadline=None)
@given(ANSWERS)
def test_equal_width_agrees_with_loops(answers):
    confidence, correct = zip(*answers, strict=True)
    assert expected_calibration_error(confidence, correct) == pytest.approx(by_loops(confidence, correct), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.sampled_from(["width", "mass"]))
def test_at_least_the_overall_gap_and_at_most_one(answers, binning):
    confidence, correct = map(np.array, zip(*answers, strict=True))
    found = expected_calibration_error(confidence, correct, binning)
    assert abs(confidence.mean() - correct.mean()) - 1e-12 <= found <= 1
    assert sum(group.n for group in reliability(confidence, correct, binning)) == len(correct)


def test_a_calibrated_model_is_near_zero_and_an_overconfident_one_is_not():
    confidence = DRAWS.uniform(0.5, 1, 20000)
    correct = DRAWS.random(20000) < confidence
    for binning in ("width", "mass"):
        assert expected_calibration_error(confidence, correct, binning) < 0.015
        assert expected_calibration_error(np.ones(20000), correct, binning) == pytest.approx(0.25, abs=0.02)


def test_no_images_no_error():
    assert expected_calibration_error([], []) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(15, 90), st.integers(0, 10**6))
def test_equal_mass_agrees_with_sorted_pieces(count, seed):
    """Sort images by confidence, deal them out one after the other, and compare sums instead of means."""
    draws = np.random.default_rng(seed)
    confidence = draws.permutation(np.linspace(0.05, 1.0, count))
    pairs = sorted(zip(confidence.tolist(), (draws.random(count) < 0.6).tolist(), strict=True))
    smallest, larger = divmod(count, 15)
    gaps, start = [], 0
    for number in range(15):
        piece = pairs[start : start + smallest + (number < larger)]
        gaps.append(abs(sum(right for _, right in piece) - sum(c for c, _ in piece)))
        start += len(piece)
    c, right = zip(*pairs, strict=True)
    assert expected_calibration_error(c, right, "mass") == pytest.approx(sum(gaps) / count, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 7), st.integers(1, 20), st.integers(0, 10**6))
def test_brier_agrees_with_its_expansion_and_with_scipy(classes, count, seed):
    """1 - 2 p_y + sum_c p_c^2, and the squared distance between probabilities and the corner of the simplex."""
    draws = np.random.default_rng(seed)
    p, y = softmax(draws.normal(size=(count, classes))), draws.integers(classes, size=count)
    expanded = [1 - 2 * row[label] + float(np.dot(row, row)) for row, label in zip(p, y, strict=True)]
    distances = np.diag(cdist(p, np.eye(classes)[y], "sqeuclidean"))
    np.testing.assert_allclose(brier_scores(p, y), expanded, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(brier_scores(p, y), distances, rtol=1e-12, atol=1e-14)


def test_brier_by_hand_and_its_bounds():
    p = softmax([[0.0, np.log(3)], [50.0, -50.0]])
    np.testing.assert_allclose(brier_scores(p, [0, 1]), [2 * 0.75**2, 2], atol=1e-9)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-15)


def test_brier_is_proper():
    """Reporting the true probability scores best on average."""
    grid, truth = np.linspace(0, 1, 21), 0.7
    means = [truth * brier_scores([[q, 1 - q]], [0])[0] + 0.3 * brier_scores([[q, 1 - q]], [1])[0] for q in grid]
    assert grid[int(np.argmin(means))] == pytest.approx(truth)


def test_huge_logits_stay_finite():
    assert np.isfinite(softmax([[1e4, -1e4, 0.0]])).all()
