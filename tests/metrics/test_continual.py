"""Standard continual metrics on matrices, by hand and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.metrics.continual import (
    average_accuracy,
    backward_transfer,
    forgetting,
    forward_transfer,
    intransigence,
    pooled_accuracy,
)

R = [[0.9, 0.1, 0.2], [0.7, 0.8, 0.3], [0.8, 0.5, 0.6]]
matrices = st.integers(2, 5).flatmap(
    lambda size: st.lists(st.lists(st.floats(0, 1), min_size=size, max_size=size), min_size=size, max_size=size)
)


def test_three_tasks_by_hand():
    assert average_accuracy(R) == pytest.approx((0.8 + 0.5 + 0.6) / 3)
    assert backward_transfer(R) == pytest.approx(((0.8 - 0.9) + (0.5 - 0.8)) / 2)
    assert forward_transfer(R, [0.0, 0.05, 0.1]) == pytest.approx(((0.1 - 0.05) + (0.3 - 0.1)) / 2)
    assert forgetting(R) == pytest.approx(((0.9 - 0.8) + (0.8 - 0.5)) / 2)
    assert intransigence(R, 0.7) == pytest.approx(0.1)


@given(matrices)
def test_against_loops(matrix):
    last = len(matrix) - 1
    assert average_accuracy(matrix) == pytest.approx(sum(matrix[last]) / (last + 1))
    total = sum(matrix[last][j] - matrix[j][j] for j in range(last))
    assert backward_transfer(matrix) == pytest.approx(total / last)
    best = [max(matrix[i][j] for i in range(j, last)) for j in range(last)]
    assert forgetting(matrix) == pytest.approx(sum(b - matrix[last][j] for j, b in enumerate(best)) / last)
    ahead = sum(matrix[j - 1][j] - 0.25 for j in range(1, last + 1))
    assert forward_transfer(matrix, [0.25] * (last + 1)) == pytest.approx(ahead / last)


@given(matrices)
def test_forgetting_is_at_least_what_was_transferred_back(matrix):
    assert forgetting(matrix) >= -backward_transfer(matrix) - 1e-12
    if len(matrix) == 2:
        assert forgetting(matrix) == pytest.approx(-backward_transfer(matrix))


def test_what_was_not_measured_leaves_only_what_needs_it_undefined():
    hole = [[None, 0.1], [0.6, 0.8]]
    assert average_accuracy(hole) == pytest.approx(0.7)
    assert backward_transfer(hole) is None
    assert forgetting(hole) is None
    assert forward_transfer(hole, [None, None]) is None
    assert forward_transfer(hole, [None, 0.05]) == pytest.approx(0.05)
    assert intransigence(hole, None) is None
    assert intransigence([[0.9, 0.1], [0.6, np.nan]], 0.5) is None
    assert backward_transfer([[0.5]]) is None
    with pytest.raises(ValueError, match="square"):
        average_accuracy([[0.1, 0.2]])


def test_pooling():
    assert pooled_accuracy([0.9, 0.6], [100, 200]) == pytest.approx(0.7)
    assert pooled_accuracy([0.9, 0.6], [100, None]) == pytest.approx(0.75)
    assert pooled_accuracy([0.9, None], [100, 200]) is None
    assert pooled_accuracy([], []) is None
