"""Differences of two groups of seeds, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from einstellung.metrics.differences import seed_difference

value = st.integers(-1000, 1000).map(lambda x: x / 1000)
by_seed = st.dictionaries(st.integers(0, 9), st.none() | value, max_size=8)


def test_a_worked_example():
    """Differences 1 and 3: mean 2, s = sqrt 2, t(1) = 12.706: 2 ± 12.706."""
    found = seed_difference({1: 0.0, 2: 1.0}, {1: 1.0, 2: 4.0})
    assert found.value == 2.0
    assert found.ci95 == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-4)


@given(by_seed, by_seed)
def test_intervals_are_scipys(first, second):
    x = {seed: value for seed, value in first.items() if value is not None}
    y = {seed: value for seed, value in second.items() if value is not None}
    found = seed_difference(first, second)
    common = sorted(x.keys() & y.keys())
    if found.ci95 is None:
        spread = [y[seed] - x[seed] for seed in common] if len(common) > 1 else [*x.values(), *y.values()]
        enough = len(common) > 1 or (len(x) > 1 and len(y) > 1)
        assert not enough or np.std(spread) < 1e-9 or (np.ptp(list(x.values())) == 0 == np.ptp(list(y.values())))
        return
    if len(common) > 1:
        test = stats.ttest_rel([y[seed] for seed in common], [x[seed] for seed in common])
        assert (found.interval, found.n) == ("paired t", (len(common), len(common)))
    else:
        test = stats.ttest_ind(list(y.values()), list(x.values()), equal_var=False)
        assert (found.interval, found.n) == ("Welch's t", (len(x), len(y)))
    assert found.ci95 == pytest.approx(tuple(test.confidence_interval()), rel=1e-6, abs=1e-9)


@given(by_seed, by_seed)
def test_turned_round_the_sign_changes(first, second):
    there, back = seed_difference(first, second), seed_difference(second, first)
    assert there.interval == back.interval
    assert there.n == back.n[::-1]
    if there.value is None:
        assert back.value is None
    else:
        assert back.value == pytest.approx(-there.value)
    if there.ci95 is not None:
        assert back.ci95 == pytest.approx((-there.ci95[1], -there.ci95[0]))


def test_equal_runs_are_no_certainty():
    found = seed_difference({1: 0.5, 2: 0.5}, {1: 0.6, 2: 0.6})
    assert (found.ci95, found.interval) == (None, "no spread over seeds: no interval")
