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
from einstellung.diagnoses.rigidity.score import score

from .timelines import rows, run, timeline

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


def example(acc_task=False):
    table = [
        *run("scratch_t2", 1, {0: 0.02, 1: 0.5, 2: 0.8}, {0: 0.02, 1: 0.3, 2: 0.4}, T1_all={0: 0.02, 2: 0.0}),
        *rows("scratch_t2", 1, "T2", "T2_nonshortcut_normal", {0: 0.05, 1: 0.4, 2: 0.5}, n=1500),
        *run("sgd", 1, {0: 0.1, 1: 0.6, 2: 0.7}, {0: 0.1, 1: 0.3, 2: 0.4}, T1_all={0: 0.65, 1: 0.3, 2: 0.2}),
        *rows("sgd", 1, "T2", "T2_nonshortcut_normal", {0: 0.06, 1: 0.4, 2: 0.5}, n=1500),
        *rows("sgd", 1, "T1", "T1_all", [0.4, 0.6]),
    ]
    if acc_task:
        for row in table:
            row["acc_task"] = min(1.0, row["acc"] + 0.1)
    return table


def test_two_phases_of_a_timeline_by_hand():
    """T2 accuracy weighs 500 SC and 1,500 NSC images: sgd (.7 + 3 * .5) / 4 = .55, scratch (.8 + 1.5) / 4 = .575."""
    card = score(timeline(example())).to_dict()["methods"]
    sgd = {name: summary["mean"] for name, summary in card["sgd"]["continual"].items()}
    assert sgd["average_accuracy"] == pytest.approx((0.2 + 0.55) / 2)
    assert sgd["BWT"] == pytest.approx(0.2 - 0.6)
    assert sgd["forgetting"] == pytest.approx(0.4)
    assert sgd["FWT"] == pytest.approx((0.1 + 3 * 0.06) / 4 - (0.02 + 3 * 0.05) / 4)
    assert sgd["intransigence"] == pytest.approx(0.575 - 0.55)
    scratch = {name: summary["mean"] for name, summary in card["scratch_t2"]["continual"].items()}
    assert scratch["average_accuracy"] == pytest.approx(0.575 / 2)
    assert scratch["BWT"] is scratch["FWT"] is scratch["intransigence"] is None
    assert card["sgd"]["continual_task"] is None
    assert card["sgd"]["task_incremental"] is None


def test_task_incremental_accuracies_have_their_own_entries():
    sgd = score(timeline(example(acc_task=True))).to_dict()["methods"]["sgd"]
    assert sgd["task_incremental"]["SC_patch"]["mean"] == pytest.approx(0.8)
    assert sgd["task_incremental"]["T1"]["mean"] == pytest.approx(0.3)
    assert sgd["task_incremental"]["T1_after_T1"]["mean"] == pytest.approx(0.7)
    assert sgd["continual_task"]["average_accuracy"]["mean"] == pytest.approx((0.3 + 0.65) / 2)
    assert sgd["continual"]["average_accuracy"]["mean"] == pytest.approx((0.2 + 0.55) / 2)
