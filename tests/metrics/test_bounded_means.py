"""The score interval against Wilson's, Tango's, a numerical maximum likelihood, and its coverage by enumeration."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.stats import binomtest, multinomial

from einstellung.metrics.bounded_means import _Counts, bounded_mean

Z = 1.959963984540054
DIFFERENCES = st.lists(st.integers(-2, 2), min_size=1, max_size=60)


@given(st.integers(1, 300), st.data())
@settings(deadline=None)
def test_between_0_and_1_it_is_wilsons(n, data):
    right = data.draw(st.integers(0, n))
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    found = bounded_mean([1] * right + [0] * (n - right), 0, 1).interval
    assert found == (pytest.approx(expected.low, abs=1e-7), pytest.approx(expected.high, abs=1e-7))


def tango(b: int, c: int, n: int) -> tuple[float, float]:
    """Tango (1998), equations 9 to 11: the paired difference (b - c) / n, with his closed form of the nuisance share."""

    def statistic(delta: float) -> float:
        linear = -b - c + (2 * n - b + c) * delta
        constant = -c * delta * (1 - delta)
        q = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
        return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))

    middle = (b - c) / n
    low = brentq(lambda delta: statistic(delta) - Z, -1 + 1e-9, middle - 1e-9) if middle > -1 else -1.0
    high = brentq(lambda delta: statistic(delta) + Z, middle + 1e-9, 1 - 1e-9) if middle < 1 else 1.0
    return low, high


@pytest.mark.parametrize(("b", "c", "n"), [(9, 2, 40), (1, 0, 14), (12, 30, 200), (0, 3, 50), (25, 25, 60)])
def test_between_minus_1_and_1_it_is_tangos(b, c, n):
    found = bounded_mean([1] * b + [-1] * c + [0] * (n - b - c), -1, 1).interval
    assert found == pytest.approx(tango(b, c, n), abs=1e-6)


@pytest.mark.parametrize("theta", [-1.2, -0.3, 0.1, 0.9, 1.7])
@pytest.mark.parametrize("counts", [(0, 3, 20, 5, 1), (0, 0, 30, 0, 0), (2, 4, 9, 3, 0), (0, 0, 4, 6, 0)])
def test_the_variance_is_that_of_the_constrained_maximum_likelihood(theta, counts):
    support, observed = np.arange(-2, 3), np.array(counts)
    start = np.full(5, 0.2)
    fitted = minimize(
        lambda p: -float(observed @ np.log(np.maximum(p, 1e-12))),
        start,
        bounds=[(1e-9, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: float(p @ support) - theta},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    expected = float(fitted.x @ (support - theta) ** 2)
    assert _Counts(np.repeat(support, observed), -2, 2).variance(theta) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("n", [5, 50, 380, 381])
def test_without_any_difference_its_width_is_that_of_the_worst_case(n):
    low, high = bounded_mean([0] * n, -2, 2).interval
    assert high == pytest.approx(2 * Z**2 / (n + Z**2), abs=1e-7)
    assert low == -high
    assert (high <= 0.02) == (n >= 381)  # what the documentation says about the smallest set that can pass


@given(DIFFERENCES)
@settings(deadline=None)
def test_it_surrounds_the_mean_within_the_bounds_and_turns_round_with_the_sign(values):
    found, turned = bounded_mean(values, -2, 2), bounded_mean([-value for value in values], -2, 2)
    low, high = found.interval
    assert -2 <= low <= found.mean <= high <= 2
    assert high - low > 1e-3
    assert turned.interval == (pytest.approx(-high, abs=1e-7), pytest.approx(-low, abs=1e-7))
    assert turned.p == pytest.approx(found.p)


@given(DIFFERENCES)
@settings(deadline=None)
def test_p_and_interval_agree(values):
    found = bounded_mean(values, -2, 2)
    low, high = found.interval
    if abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (low > 0 or high < 0)


@given(DIFFERENCES)
@settings(deadline=None)
def test_a_higher_level_is_wider(values):
    ends = [bounded_mean(values, -2, 2, level).interval for level in (0.8, 0.95, 0.999)]
    assert all(wide[0] <= narrow[0] and narrow[1] <= wide[1] for narrow, wide in pairwise(ends))


def tables(n: int) -> np.ndarray:
    """Every way to share n examples among five differences."""
    found = [
        (a, b, c, d, n - a - b - c - d)
        for a in range(n + 1)
        for b in range(n + 1 - a)
        for c in range(n + 1 - a - b)
        for d in range(n + 1 - a - b - c)
    ]
    return np.array(found)


def test_coverage_is_kept_with_ten_examples_at_every_floor():
    n, support = 10, np.arange(-2, 3)
    every = tables(n)
    ends = np.array([bounded_mean(np.repeat(support, counts), -2, 2).interval for counts in every])
    truths = {
        "usual": (0.02, 0.1, 0.7, 0.15, 0.03),
        "nearly nothing changes": (0.0, 0.01, 0.97, 0.02, 0.0),
        "few change by two": (0.0, 0.0, 0.95, 0.0, 0.05),
        "all but few rise by two": (0.0, 0.0, 0.02, 0.03, 0.95),
        "spread": (0.2, 0.2, 0.2, 0.2, 0.2),
    }
    for name, truth in truths.items():
        mean = float(np.dot(truth, support))
        holds = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
        coverage = float(multinomial.pmf(every, n, truth)[holds].sum())
        assert coverage >= 0.92, name


@pytest.mark.parametrize("values", [[], [3], [[1, 2]], [float("nan")]])
def test_values_out_of_bounds_are_refused(values):
    with pytest.raises(ValueError, match="between -2 and 2"):
        bounded_mean(values, -2, 2)
