"""Splits of confounded tasks: recognised, counted, described, sorted."""

from __future__ import annotations

from einstellung.diagnoses.confounding.splits import describe_split, has_confounded_tasks, split_order, tasks_of

from .confounded import both, study


def test_timelines_are_recognised_by_their_splits():
    assert has_confounded_tasks(study({"naive": {"T1": both(T1=0.9)}}).splits)
    assert has_confounded_tasks(study({"naive": {"T1": both(unconfounded=0.9)}}).splits)
    assert not has_confounded_tasks(["T2_shortcut_normal"])


def test_a_task_between_two_others_is_never_left_out():
    assert tasks_of(study({"naive": {"T1": both(T4=0.9)}})) == ("T1", "T2", "T3", "T4")


def test_splits_are_described_and_sorted_by_task():
    names = ["unconfounded_positive", "mine", "T2_train", "T1_negative_twin", "T1_val"]
    assert sorted(names, key=split_order) == ["T1_val", "T1_negative_twin", "T2_train", "unconfounded_positive", "mine"]
    assert describe_split("T2_train") == "a fixed sample of the training images of task T2"
    assert describe_split("T0_train") is None
