"""Ratios of gaps and of means: by hand, and against a paired t test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.metrics.ratios import amplification, ratio_of_means


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-0.5, 0.1), st.floats(-0.5, -0.05)), min_size=2, max_size=6))
def test_fiellers_interval_holds_what_a_paired_t_test_does_not_refuse(pairs):
    from scipy.stats import ttest_1samp

    y, x = np.array(pairs).T
    ratio = ratio_of_means(list(y), list(x))
    assert ratio.value == pytest.approx(y.mean() / x.mean())
    if ratio.ci95 is None or np.ptp(y - ratio.value * x) < 1e-6:
        return
    low, high = ratio.ci95
    assert low <= ratio.value + 1e-9
    assert high >= ratio.value - 1e-9
    width = high - low
    for theta, refused in ((low + 0.02 * width, False), (high - 0.02 * width, False), (high + 0.05 * width, True)):
        differences = y - theta * x
        if np.ptp(differences) > 1e-6:
            assert (ttest_1samp(differences, 0).pvalue < 0.05) == refused


def test_a_ratio_has_no_bounds_where_the_denominator_may_be_zero():
    assert ratio_of_means([-0.1, -0.2], [-0.3, 0.1]).ci95 is None
    assert ratio_of_means([-0.1], [-0.2]).interval == "n = 1: no interval"
    assert ratio_of_means([None], [-0.2]).n == 0


def test_amplification_by_hand():
    assert amplification(-0.45, -0.153) == pytest.approx(2.941, abs=1e-3)
    assert amplification(-0.1, -0.0101) is not None
    assert amplification(-0.1, 0.01) is None
    assert amplification(None, -0.2) is None
