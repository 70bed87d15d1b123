"""Smoothing, thresholds and checkpoints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.metrics.curves import (
    checkpoint_epoch,
    last_value,
    shared_epochs,
    smooth,
    time_to_threshold,
    times_to_thresholds,
    value_at,
)
from einstellung.timeline import NSC, SC_MASK, SC_PATCH, VAL, Curve

accuracies = st.lists(st.integers(0, 500).map(lambda k: k / 500), min_size=1, max_size=12)
taus = st.integers(1, 100).map(lambda k: k / 100)


def whole(acc):
    return np.arange(1, len(acc) + 1, dtype=float)


def test_trailing_window_by_hand():
    smoothed = smooth([1, 2, 3, 4, 5], [0.3, 0.6, 0.9, 0.0, 0.3])
    assert smoothed == pytest.approx([0.3, 0.45, 0.6, 0.5, 0.4])


def test_centred_window_by_hand():
    values = [0.3, 0.6, 0.9, 0.0, 0.3]
    assert smooth([1, 2, 3, 4, 5], values, smoothing="centred") == pytest.approx([0.45, 0.6, 0.5, 0.4, 0.15])
    # An even width holds exactly that many whole epochs too: e and e + 1.
    assert smooth([1, 2, 3, 4, 5], values, 2, "centred") == pytest.approx([0.45, 0.75, 0.45, 0.15, 0.3])


def test_the_model_before_training_never_enters():
    smoothed = smooth([0, 1, 2], [1.0, 0.2, 0.4])
    assert math.isnan(smoothed[0])
    assert smoothed[1:] == pytest.approx([0.2, 0.3])
    assert time_to_threshold([0, 1, 2], [1.0, 0.2, 0.4], tau=0.4) is None


def test_with_several_points_per_epoch_the_window_still_spans_three_epochs():
    epochs = np.arange(1, 13) / 3  # 1/3, 2/3, ..., 4
    smoothed = smooth(epochs, np.arange(12.0))
    assert smoothed[8] == pytest.approx(np.mean(np.arange(0, 9)))  # e = 3: all of (0, 3]
    assert smoothed[11] == pytest.approx(np.mean(np.arange(3, 12)))  # e = 4: (1, 4], the point at 1 is out


def test_gaps_make_a_window_of_fewer_points():
    assert smooth([1, 2, 5, 6], [0.1, 0.3, 0.5, 0.7]) == pytest.approx([0.1, 0.2, 0.5, 0.6])


@given(accuracies, st.sampled_from(["trailing", "centred", "none"]))
def test_a_window_of_one_is_no_smoothing(acc, smoothing):
    assert smooth(whole(acc), acc, 1, smoothing).tolist() == acc
    assert smooth(whole(acc), acc, 3, "none").tolist() == acc


@given(accuracies, st.integers(1, 5), st.sampled_from(["trailing", "centred"]))
def test_smoothing_stays_within_the_curve_and_keeps_constants(acc, window, smoothing):
    smoothed = smooth(whole(acc), acc, window, smoothing)
    assert min(acc) - 1e-12 <= smoothed.min() <= smoothed.max() <= max(acc) + 1e-12
    assert smooth(whole(acc), [0.3] * len(acc), window, smoothing) == pytest.approx([0.3] * len(acc))


@pytest.mark.parametrize("tau", [0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60, 0.7, 0.58, 0.29])
def test_exact_ties_count_as_reached(tau):
    """The mean of k / 500 accuracies may equal tau on paper and miss it by one bit in floats."""
    k = round(tau * 500)
    for low in range(0, k, 7):
        acc = [low / 500, k / 500, (2 * k - low) / 500]
        if acc[2] <= 1:
            assert time_to_threshold([1, 2, 3], acc, tau) == 3.0, acc
            below = [low / 500, k / 500, (2 * k - low - 1) / 500]
            assert time_to_threshold([1, 2, 3], below, tau) is None


@given(accuracies, taus, taus)
def test_a_higher_threshold_is_never_reached_sooner(acc, first, second):
    low, high = sorted((first, second))
    early, late = (time_to_threshold(whole(acc), acc, tau) for tau in (low, high))
    if late is not None:
        assert early is not None
        assert early <= late


@given(accuracies, taus, st.integers(1, 30))
def test_a_shift_in_time_shifts_the_crossing(acc, tau, shift):
    time = time_to_threshold(whole(acc), acc, tau)
    later = time_to_threshold(whole(acc) + shift, acc, tau)
    assert (later is None) == (time is None)
    if time is not None:
        assert later == time + shift


@given(accuracies, st.lists(taus, min_size=1, max_size=6))
def test_many_thresholds_at_once_are_the_single_ones(acc, grid):
    smoothed = smooth(whole(acc), acc)
    assert times_to_thresholds(whole(acc), smoothed, grid) == [time_to_threshold(whole(acc), acc, t) for t in grid]


def test_no_curve_no_crossing():
    assert time_to_threshold([], []) is None
    assert times_to_thresholds([], [], [0.3, 0.6]) == [None, None]


def test_values_are_found_at_their_epoch_only():
    epochs, values = np.array([0.0, 1 / 3, 2 / 3]), np.array([0.1, 0.2, np.nan])
    assert value_at(epochs, values, 0.333333333333) == 0.2
    assert value_at(epochs, values, 2 / 3) is None
    assert value_at(epochs, values, 5.0) is None
    assert value_at(epochs, values, None) is None
    assert last_value(epochs, values) == 0.2
    assert last_value(epochs, values, after=0.5) is None


def curve(points):
    epochs = np.array(sorted(points), dtype=float)
    return Curve(epochs, np.array([points[e] for e in sorted(points)]), np.full(len(points), 500.0))


SC = {SC_PATCH: curve({0: 0.1, 1: 0.5, 2: 0.6, 3: 0.7}), SC_MASK: curve({0: 0.1, 1: 0.4, 2: 0.4})}


def test_the_last_checkpoint_is_the_last_with_both_splits():
    assert checkpoint_epoch(SC, "last") == 2.0
    assert checkpoint_epoch({SC_PATCH: SC[SC_PATCH]}, "last") == 3.0  # no masked split at all: nothing to wait for
    assert checkpoint_epoch({NSC: curve({1: 0.5, 4: 0.6})}, "last") == 4.0
    assert checkpoint_epoch({SC_PATCH: curve({0: 0.5})}, "last") is None
    assert checkpoint_epoch({}, "last") is None


def test_the_best_checkpoint_is_the_first_of_equals_and_never_epoch_zero():
    assert checkpoint_epoch({**SC, VAL: curve({0: 0.99, 1: 0.7, 2: 0.7, 3: 0.9})}, "best-val") == 1.0
    assert checkpoint_epoch({**SC, VAL: curve({1: 0.7 - 1e-13, 2: 0.7})}, "best-val") == 1.0
    assert checkpoint_epoch({**SC, VAL: curve({1: 0.7 - 1e-6, 2: 0.7})}, "best-val") == 2.0
    assert checkpoint_epoch({**SC, VAL: curve({0: 0.9, 3: 0.9})}, "best-val") is None
    assert checkpoint_epoch(SC, "best-val") is None


def test_shared_epochs_forgive_rounding():
    assert shared_epochs([np.array([0.1 + 0.2, 1.0]), np.array([0.3, 2.0])]).tolist() == [0.1 + 0.2]
    assert shared_epochs([np.array([1.0]), np.empty(0)]).tolist() == []
