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
    bootstrap_intervals,
    holm,
    mcnemar_exact,
    mean_and_sd,
    paired_t_test,
    summarise,
    summarise_all,
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


@pytest.mark.parametrize("n", [8, 10, 25, 60])
def test_the_bootstrap_is_scipy_s(n):
    values = np.random.default_rng(n).gamma(2.0, 0.1, n)  # skewed, so that bias and acceleration matter
    summary = summarise(list(values))
    assert summary.interval == "bootstrap"
    reference = stats.bootstrap((values,), np.mean, n_resamples=50000, method="BCa", rng=np.random.default_rng(1))
    low, high = reference.confidence_interval
    spread = values.std(ddof=1) / np.sqrt(n)
    assert summary.ci95 == pytest.approx((low, high), abs=0.12 * spread)


def test_the_bootstrap_is_not_a_plain_percentile():
    values = np.random.default_rng(10).gamma(2.0, 0.1, 10)
    plain = stats.bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(1)).confidence_interval
    spread = values.std(ddof=1) / np.sqrt(10)
    assert summarise(list(values)).ci95[1] > plain.high + 0.2 * spread


def test_the_bootstrap_is_seeded_and_handles_constants():
    values = [0.1, 0.2, 0.15, 0.3, 0.22, 0.18, 0.4, 0.1]
    assert summarise(values).ci95 == summarise(values).ci95
    assert bootstrap_intervals([[0.3] * 9]) == [(0.3, 0.3)]
    together = summarise_all({"a": values, "b": [*values, None], "c": [*values, 0.2], "d": values[:3], "e": [0.3] * 9})
    assert together["a"] == together["b"] == summarise(values)
    assert together["c"] == summarise([*values, 0.2])
    assert together["d"].interval == "t"
    assert together["e"].ci95 == (0.3, 0.3)


def test_seven_values_use_t_and_eight_the_bootstrap():
    values = [0.1, 0.2, 0.15, 0.3, 0.22, 0.18, 0.4, 0.1]
    assert summarise(values[:7]).interval == "t"
    assert summarise(values).interval == "bootstrap"


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
