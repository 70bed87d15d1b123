"""Kaplan-Meier and restricted means, against scipy, lifelines' own integral and plain arithmetic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from einstellung.metrics.survival import TimeToThreshold, kaplan_meier, restricted_mean, survival

runs = st.lists(
    st.tuples(st.integers(1, 20), st.booleans()).map(lambda p: TimeToThreshold(p[0] if p[1] else None, max(p[0], 1))),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(runs)
def test_the_curve_is_scipy_s(watched):
    durations = np.array([run.budget if run.reached is None else run.reached for run in watched], dtype=float)
    lost = np.array([run.reached is None for run in watched])
    reference = stats.ecdf(stats.CensoredData.right_censored(durations, lost)).sf
    curve = kaplan_meier(watched)
    assert curve.times[0] == 0
    assert curve.share[0] == 1
    for time in np.arange(0, 21, 0.5):
        ours = curve.share[np.searchsorted(curve.times, time, side="right") - 1]
        assert ours == pytest.approx(float(reference.evaluate(time)), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(runs, st.integers(1, 20))
def test_the_restricted_mean_is_lifelines_own(watched, horizon):
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    durations = [run.budget if run.reached is None else run.reached for run in watched]
    fitted = KaplanMeierFitter().fit(durations, [run.reached is not None for run in watched])
    mean = restricted_mean(kaplan_meier(watched), horizon)
    assert mean == pytest.approx(float(restricted_mean_survival_time(fitted, t=horizon)))


@given(st.lists(st.one_of(st.none(), st.integers(1, 10)), min_size=1, max_size=10))
def test_with_one_budget_it_is_the_mean_of_the_cut_times(times):
    watched = [TimeToThreshold(time, 10) for time in times]
    cut = [10 if time is None else time for time in times]
    assert restricted_mean(kaplan_meier(watched), 10) == pytest.approx(np.mean(cut))


def test_by_hand():
    """sgd: 2, 4, never; scratch: 8, never, never; budget 10. Restricted means 16/3 and 28/3."""
    sgd = {1: TimeToThreshold(2, 10), 2: TimeToThreshold(4, 10), 3: TimeToThreshold(None, 10)}
    scratch = {1: TimeToThreshold(8, 10), 2: TimeToThreshold(None, 10), 3: TimeToThreshold(None, 10)}
    result = survival(sgd, scratch)
    assert (result.budget, result.events, result.n, result.median) == (10, 2, 3, 4.0)
    assert result.restricted_mean == pytest.approx(16 / 3)
    assert result.restricted_mean_difference.value == pytest.approx(16 / 3 - 28 / 3)
    paired = stats.ttest_rel([2, 4, 10], [8, 10, 10]).confidence_interval()
    assert result.restricted_mean_difference.ci95 == pytest.approx((paired.low, paired.high))


def test_the_difference_is_no_finer_than_the_evaluation_step():
    """Seeds that all differ by -6: judged by half a step, as AD is; a wider spread is not touched."""
    sgd = {seed: TimeToThreshold(4, 10) for seed in (1, 2, 3)}
    scratch = {seed: TimeToThreshold(None, 10) for seed in (1, 2, 3)}
    assert survival(sgd, scratch, resolution=0.5).restricted_mean_difference.ci95 == (-6.5, -5.5)
    spread = {1: TimeToThreshold(2, 10), 2: TimeToThreshold(4, 10), 3: TimeToThreshold(9, 10)}
    assert survival(spread, scratch, 0.5) == survival(spread, scratch)


def test_no_event_no_median():
    result = survival({1: TimeToThreshold(None, 5), 2: TimeToThreshold(None, 5)})
    assert (result.events, result.median, result.restricted_mean) == (0, None, 5.0)
    assert (result.restricted_mean_difference.value, result.restricted_mean_difference.ci95) == (None, None)


def test_unequal_budgets_are_compared_up_to_the_shorter():
    sgd = {1: TimeToThreshold(8, 10), 2: TimeToThreshold(9, 10)}
    scratch = {1: TimeToThreshold(None, 6), 2: TimeToThreshold(3, 6)}
    result = survival(sgd, scratch)
    assert result.budget == 6
    assert result.restricted_mean_difference.value == pytest.approx(6 - 4.5)


def test_only_common_seeds_are_compared():
    sgd = {1: TimeToThreshold(2, 10), 7: TimeToThreshold(9, 10)}
    scratch = {1: TimeToThreshold(5, 10), 8: TimeToThreshold(1, 10)}
    result = survival(sgd, scratch)
    assert result.restricted_mean == pytest.approx(5.5)
    assert (result.restricted_mean_difference.value, result.restricted_mean_difference.ci95) == (
        pytest.approx(-3.0),
        None,
    )  # one common seed: no interval
    assert survival(sgd, {8: TimeToThreshold(1, 10)}).restricted_mean_difference.value is None
    assert survival({}, scratch) is None


def test_swapping_flips_the_difference():
    a = {1: TimeToThreshold(2, 10), 2: TimeToThreshold(None, 10)}
    b = {1: TimeToThreshold(5, 10), 2: TimeToThreshold(6, 10)}
    there, back = survival(a, b), survival(b, a)
    assert there.restricted_mean_difference.value == pytest.approx(-back.restricted_mean_difference.value)
    assert there.restricted_mean_difference.ci95 == pytest.approx(
        (-back.restricted_mean_difference.ci95[1], -back.restricted_mean_difference.ci95[0])
    )


def test_runs_that_all_agree_have_an_interval_without_width_and_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = {seed: TimeToThreshold(4, 10) for seed in (1, 2, 3)}
        never = {seed: TimeToThreshold(None, 10) for seed in (1, 2, 3)}
        assert survival(same, never).restricted_mean_difference.ci95 == (-6.0, -6.0)
        assert survival({1: TimeToThreshold(0.5, 0.5)}).median == 0.5
