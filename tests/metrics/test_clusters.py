"""The cluster bootstrap: by hand, against the cluster-robust variance, and against scipy's bootstrap of single images."""

from __future__ import annotations

from inspect import signature
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from einstellung.metrics.clusters import cluster_bootstrap, percentile_interval

DRAWS = np.random.default_rng(7)


def test_two_clusters_by_hand():
    """Clusters {1, 1, 0} and {0}: drawn twice the first 2/3, both 2/4, twice the second 0, in 1/4, 1/2 and 1/4 of all draws."""
    drawn = cluster_bootstrap([1, 1, 0, 0], [5, 5, 5, 9], resamples=4000)
    found, times = np.unique(drawn.round(6), return_counts=True)
    np.testing.assert_allclose(found, [0, 0.5, 2 / 3], atol=1e-6)
    np.testing.assert_allclose(times / 4000, [0.25, 0.5, 0.25], atol=0.03)
    assert percentile_interval(drawn) == pytest.approx((0, 2 / 3))


def test_all_draws_of_three_clusters_of_two_strata():
    """Every draw is one of those that can be listed: clusters 0 and 1 among themselves, 2 always."""
    values, clusters, strata = [1, 0, 1, 1, 0], [0, 0, 1, 2, 2], [0, 0, 0, 1, 1]
    sums, sizes = {0: 1, 1: 1, 2: 1}, {0: 2, 1: 1, 2: 2}
    possible = {
        round(sum(sums[c] for c in (*pair, 2)) / sum(sizes[c] for c in (*pair, 2)), 9)
        for pair in product((0, 1), repeat=2)
    }
    assert set(cluster_bootstrap(values, clusters, strata).round(9)) == possible


def test_its_spread_is_the_cluster_robust_standard_error():
    """The variance of a mean over clusters: sum over clusters of the squared sum of residuals, over n squared."""
    clusters = np.repeat(np.arange(60), DRAWS.integers(3, 9, 60))
    ease = DRAWS.normal(0, 0.3, 60)[clusters]
    hits = (DRAWS.normal(0, 0.2, len(clusters)) + ease > 0).astype(float)
    residuals = np.bincount(clusters, weights=hits - hits.mean())
    robust = np.sqrt((residuals**2).sum()) / len(hits)
    assert cluster_bootstrap(hits, clusters).std() == pytest.approx(robust, rel=0.08)
    alone = cluster_bootstrap(hits, np.arange(len(hits))).std()
    assert alone == pytest.approx(hits.std() / np.sqrt(len(hits)), rel=0.08)
    assert robust > 1.5 * alone  # images of one source fail together: fewer independent answers than images


def test_with_single_images_it_is_scipys_bootstrap():
    values = DRAWS.normal(0.4, 1, 80)
    drawn = cluster_bootstrap(values, np.arange(80), resamples=9000)
    draws = {"rng" if "rng" in signature(stats.bootstrap).parameters else "random_state": np.random.default_rng(1)}
    reference = stats.bootstrap((values,), np.mean, n_resamples=9000, method="percentile", **draws).confidence_interval
    assert percentile_interval(drawn) == pytest.approx((reference.low, reference.high), abs=0.02)


def test_the_difference_of_two_columns_is_paired():
    first = DRAWS.normal(0, 1, 50)
    both = np.stack([first, first + 0.25], axis=1)
    drawn = cluster_bootstrap(both, np.repeat(np.arange(10), 5))
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 0.25)


def test_an_image_may_be_part_of_some_columns_only():
    values = np.array([[1.0, np.nan], [0.0, np.nan], [np.nan, 1.0]])
    drawn = cluster_bootstrap(values, [0, 1, 2], [0, 0, 1])
    assert set(drawn[:, 0]) == {0.0, 0.5, 1.0}
    assert set(drawn[:, 1]) == {1.0}
    among_all = cluster_bootstrap(values, [0, 1, 2])
    assert np.isnan(among_all[:, 1]).any()  # it was not drawn
    assert percentile_interval(among_all[:, 1]) == (1.0, 1.0)
    assert percentile_interval([float("nan")]) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30))
def test_means_stay_within_the_values_and_repeat(images):
    values, clusters, strata = zip(*images, strict=True)
    drawn = cluster_bootstrap(values, clusters, strata, resamples=20)
    assert ((drawn >= min(values)) & (drawn <= max(values))).all()
    np.testing.assert_array_equal(drawn, cluster_bootstrap(values, clusters, strata, resamples=20))
