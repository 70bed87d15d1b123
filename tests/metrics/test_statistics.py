"""Intervals and tests against scipy's, and the cases scipy leaves open."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from einstellung.metrics.statistics import (
    holm,
    mcnemar_exact,
    mean_and_sd,
    p_beyond,
    p_within,
    paired_t_test,
    summarise,
)

samples = st.lists(st.integers(-500, 500).map(lambda k: k / 500), min_size=2, max_size=7)


def test_a_t_interval_by_hand():
    """Mean 2, sd 1, t(2) = 4.302653: half width 4.302653 / sqrt(3) = 2.484138."""
    summary = summarise([1.0, 2.0, 3.0])
    assert (summary.mean, summary.sd, summary.n, summary.interval) == (2.0, 1.0, 3, "t")
    assert summary.ci95 == pytest.approx((2 - 2.484138, 2 + 2.484138), abs=1e-6)


def test_too_little_makes_no_interval():
    assert summarise([]).to_dict() == {"mean": None, "sd": None, "n": 0, "ci95": None, "interval": "none"}
    one = summarise([None, 0.5])
    assert (one.mean, one.sd, one.n, one.ci95, one.interval) == (0.5, None, 1, None, "n = 1: no interval")


@given(samples)
def test_t_interval_and_test_are_scipy_s(values):
    summary = summarise(values)
    test = paired_t_test(values)
    if np.std(values) < 1e-12:
        assert summary.ci95 == (summary.mean, summary.mean)
        return
    reference = stats.ttest_1samp(values, 0)
    assert summary.ci95 == pytest.approx(tuple(reference.confidence_interval()), rel=1e-6, abs=1e-9)
    assert test.statistic == pytest.approx(reference.statistic)
    assert test.p == pytest.approx(reference.pvalue, rel=1e-6)
    assert test.d_z == pytest.approx(np.mean(values) / np.std(values, ddof=1))


@given(samples)
def test_flipping_signs_flips_interval_statistic_and_effect(values):
    plus, minus = summarise(values), summarise([-value for value in values])
    assert plus.ci95 == pytest.approx((-minus.ci95[1], -minus.ci95[0]))
    if paired_t_test(values).statistic is not None:
        assert paired_t_test(values).p == pytest.approx(paired_t_test([-v for v in values]).p)
        assert paired_t_test(values).d_z == pytest.approx(-paired_t_test([-v for v in values]).d_z)


def test_differences_without_spread_make_no_false_certainty():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal = paired_t_test([0.3, 0.1 + 0.2, 0.3])
        zero = paired_t_test([0.0, 0.0, 0.0])
        single = paired_t_test([0.3, None])
        nothing = paired_t_test([])
    assert (equal.statistic, equal.p, equal.d_z, equal.n) == (None, None, None, 3)
    assert equal.note == "all differences are equal: no t test"
    assert (zero.statistic, zero.p, zero.d_z, zero.note) == (None, 1.0, None, "all differences are 0")
    assert (single.p, single.n, single.note) == (None, 1, "n = 1: no test")
    assert (nothing.p, nothing.n) == (None, 0)
    assert summarise([0.3, 0.1 + 0.2, 0.3]).sd == 0.0


@pytest.mark.parametrize("n", [3, 8, 10, 25])
def test_every_number_of_seeds_has_a_t_interval(n):
    values = np.random.default_rng(n).gamma(2.0, 0.1, n)
    summary = summarise(list(values))
    assert summary.interval == "t"
    assert summary.ci95 == pytest.approx(tuple(stats.ttest_1samp(values, 0).confidence_interval()))


def test_the_t_interval_covers_at_eight_and_ten_seeds():
    """A percentile-type bootstrap covers 88 to 90 % there; 4,000 draws have a standard error of 0.34 points."""
    for n in (8, 10):
        draws = np.random.default_rng(n).normal(0.3, 0.1, (4000, n))
        inside = [low <= 0.3 <= high for low, high in (summarise(list(row)).ci95 for row in draws)]
        assert np.mean(inside) == pytest.approx(0.95, abs=0.012)


def test_an_interval_stays_within_bounds_and_not_below_the_resolution():
    assert summarise([0.0, 0.02, 0.1], bounds=(0.0, 1.0)).ci95[0] == 0.0
    assert summarise([0.9, 1.0, 1.0], bounds=(0.0, 1.0)).ci95[1] == 1.0
    equal = summarise([-2.0, -2.0, -2.0], resolution=0.5)
    assert (equal.ci95, equal.interval) == ((-2.5, -1.5), "resolution")
    assert summarise([-2.0, -4.0, -3.0], resolution=0.5) == summarise([-2.0, -4.0, -3.0])


@given(samples, st.integers(-500, 500).map(lambda k: k / 500))
def test_one_sided_tests_are_scipy_s(values, bound):
    above, below = p_beyond(values, bound, "above"), p_beyond(values, bound, "below")
    if np.std(values) < 1e-12:
        assert {above, below} <= {0.0, 1.0}
        return
    assert above == pytest.approx(stats.ttest_1samp(values, bound, alternative="greater").pvalue, rel=1e-6, abs=1e-12)
    assert below == pytest.approx(stats.ttest_1samp(values, bound, alternative="less").pvalue, rel=1e-6, abs=1e-12)


@given(samples, st.floats(0.05, 2.0), st.floats(-3.0, 3.0))
def test_the_resolution_treats_test_and_interval_alike(values, resolution, bound):
    """p of a one-sided test is at most .025 exactly where the whole 95 % interval is beyond the bound."""
    low, high = summarise(values, resolution=resolution).ci95
    for side, gap in (("above", low - bound), ("below", bound - high)):
        if abs(gap) > 1e-6:
            assert (p_beyond(values, bound, side, resolution) < 0.025) == (gap > 0)


def test_two_one_sided_tests_by_hand():
    """Mean .001, se .003 / sqrt(3): to -.02 t = 12.12, to +.02 t = 10.97; the nearer bound decides."""
    assert p_within([-0.002, 0.001, 0.004], 0.02) == pytest.approx(stats.t.sf((0.02 - 0.001) / 0.003 * 3**0.5, 2))
    assert p_within([0.05, 0.051, 0.049], 0.02) > 0.99
    assert p_within([0.0, 0.0, 0.0], 0.02) == 0.0
    assert p_within([0.0], 0.02) is None


@given(samples)
def test_mean_and_sd_are_those_of_the_defined_values(values):
    mean, sd, n = mean_and_sd([None, *values, None])
    assert (n, mean) == (len(values), pytest.approx(np.mean(values)))
    assert sd == pytest.approx(np.std(values, ddof=1), abs=1e-12)


p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=5)


@given(p_values)
def test_holm_is_closed_testing_with_bonferroni(values):
    """Another definition: a hypothesis falls only if every intersection that contains it falls by Bonferroni."""
    known = [i for i, p in enumerate(values) if p is not None]
    for i, adjusted in enumerate(holm(values)):
        if values[i] is None:
            assert adjusted is None
            continue
        families = [subset for size in range(1, len(known) + 1) for subset in combinations(known, size) if i in subset]
        expected = max(min(1.0, len(family) * min(values[j] for j in family)) for family in families)
        assert adjusted == pytest.approx(expected)


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_a_binomial_test(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    result = mcnemar_exact(first, second)
    b, c = pairs.count((True, False)), pairs.count((False, True))
    assert (result.only_first, result.only_second, result.n) == (b, c, len(pairs))
    expected = stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert result.p == pytest.approx(expected)
    assert mcnemar_exact(second, first).p == result.p


def test_mcnemar_by_hand_and_refusal():
    """Five images lost, none won: p = 2 / 2**5."""
    assert mcnemar_exact([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0]).p == pytest.approx(2 / 32)
    with pytest.raises(ValueError, match="same images"):
        mcnemar_exact([True], [True, False])
