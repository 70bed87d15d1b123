"""Every check passes on a sound timeline, fails on one broken for it, and abstains where it cannot tell."""

from __future__ import annotations

import math

import pytest

from einstellung.diagnoses.rigidity.checks import (
    baseline_never_saw_t1,
    log_checks,
    mask_does_something,
    no_run_twice,
    patched_and_masked_match,
    same_budget,
    seeds_are_paired,
    splits_are_known,
    t1_was_learned,
)
from einstellung.timeline import SC_MASK, SC_PATCH
from tests.metrics.timelines import rows, run, timeline


def sound():
    table = []
    for seed in (1, 2):
        shift = seed / 100
        table += run("scratch_t2", seed, [0.3, 0.5 + shift], [0.2, 0.3], [0.4, 0.5], T1_all=[0.0, 0.002])
        table += run("sgd", seed, [0.5, 0.6 + shift], [0.3, 0.4], [0.4, 0.5], T1_all=[0.3, 0.1])
        table += rows("sgd", seed, "T1", "T1_all", [0.4, 0.65])
    return table


def test_a_sound_timeline_passes_everything():
    checks = log_checks(timeline(sound()), "scratch_t2")
    assert [(check.name, check.passed) for check in checks if check.passed is not True] == []
    assert len({check.name for check in checks}) == len(checks) == 8
    assert all(check.detail for check in checks)


def test_a_bare_timeline_leaves_everything_open():
    checks = log_checks(timeline(rows("sgd", 1, "T2", "T2_nonshortcut_normal", [0.5])), None)
    assert [check.passed for check in checks] == [None] * 7 + [True]


def test_a_baseline_that_knows_t1_is_found():
    table = sound()
    assert "0.002 (seed 1)" in baseline_never_saw_t1(timeline(table), "scratch_t2").detail
    knows = [{**row, "acc": 0.6} if row["split"] == "T1_all" and row["method"] != "sgd" else row for row in table]
    check = baseline_never_saw_t1(timeline(knows), "scratch_t2")
    assert check.passed is False
    assert "0.600 (seed 1)" in check.detail
    trained = timeline(table, rows("scratch_t2", 2, "T1", "T2_val", [0.4]))
    assert baseline_never_saw_t1(trained, "scratch_t2").passed is False
    unmeasured = timeline([row for row in table if row["split"] != "T1_all"])
    assert baseline_never_saw_t1(unmeasured, "scratch_t2").passed is None


def test_t1_that_was_not_learned_is_found():
    table = [{**row, "acc": 0.09} if row["phase"] == "T1" and row["seed"] == 2 else row for row in sound()]
    check = t1_was_learned(timeline(table), "scratch_t2")
    assert check.passed is False
    assert "0.090 (sgd seed 2)" in check.detail


@pytest.mark.parametrize(
    ("acc", "classes", "passed", "words"),
    [
        (
            0.5,
            2,
            False,
            "lowest T1_all accuracy after T1: 0.500 (sgd seed 2), 95 % lower bound 0.456 over 500",
        ),
        (0.53, 2, False, "must be above chance, 0.500 for 2 classes"),  # above, but not surely so: .486
        (0.6, 2, True, "95 % lower bound 0.556"),
        (
            0.09,
            40,
            True,
            "95 % lower bound 0.068 over 500 images; must be above chance, 0.025 for 40 classes",
        ),
        (0.09, None, False, "must be above 0.1 (number of T1 classes unknown)"),
        (0.11, None, True, "must be above 0.1"),
    ],
)
def test_t1_was_learned_if_it_is_surely_above_chance(acc, classes, passed, words):
    table = [{**row, "acc": acc} if row["phase"] == "T1" and row["seed"] == 2 else row for row in sound()]
    check = t1_was_learned(timeline(table), "scratch_t2", classes)
    assert check.passed is passed
    assert words in check.detail


def test_images_that_were_not_counted_leave_the_accuracy_itself():
    table = [{**row, "n": None} if row["split"] == "T1_all" else row for row in sound()]
    assert t1_was_learned(timeline(table), "scratch_t2", 3).detail == (
        "lowest T1_all accuracy after T1: 0.650 (sgd seed 1), no interval: number of images unknown; must be above chance, "
        "0.333 for 3 classes"
    )
    assert t1_was_learned(timeline(table), "scratch_t2", 1).passed is False


def test_the_number_of_t1s_classes_reaches_its_check():
    details = {check.name: check.detail for check in log_checks(timeline(sound()), "scratch_t2", 40)}
    assert "0.025 for 40 classes" in details["T1 was learned before T2"]


def test_a_run_that_starts_fresh_is_not_judged_for_it():
    fresh = run("interleaved", 1, [0.5, 0.7], [0.4, 0.4], T1_all={0: 0.01, 1: 0.5})
    check = t1_was_learned(timeline(sound(), fresh), "scratch_t2")
    assert check.passed is True
    assert "no T1 phase recorded for interleaved seed 1" in check.detail
    assert t1_was_learned(timeline(fresh), None).passed is None
    carried = run("sgd", 1, [0.5], [0.4], T1_all={0: 0.6})
    assert t1_was_learned(timeline(carried), None).passed is True


def test_splits_measured_on_other_images_or_at_other_times_are_found():
    fewer = timeline(rows("a", 1, "T2", SC_PATCH, [0.5, 0.6]), rows("a", 1, "T2", SC_MASK, [0.4, 0.5], n=400))
    assert patched_and_masked_match(fewer).passed is False
    assert "image counts differ in a seed 1" in patched_and_masked_match(fewer).detail
    later = timeline(rows("a", 1, "T2", SC_PATCH, [0.5, 0.6]), rows("a", 1, "T2", SC_MASK, {1: 0.4, 3: 0.5}))
    assert "epochs differ in a seed 1" in patched_and_masked_match(later).detail
    unknown = timeline(rows("a", 1, "T2", SC_PATCH, [0.5], n=None), rows("a", 1, "T2", SC_MASK, [0.4], n=None))
    assert patched_and_masked_match(unknown).passed is True
    assert "image counts missing in 1" in patched_and_masked_match(unknown).detail


def test_a_mask_that_does_nothing_is_found():
    copied = mask_does_something(timeline(masked_run([2.0, 1.0], [2.0, 1.0]), run("b", 1, [0.5, 0.6], [0.5, 0.7])))
    assert copied.passed is False
    assert copied.detail == (
        "patched and masked accuracies are identical at every epoch in a seed 1, and so are all recorded losses; "
        "patched and masked curves differ in 1 of 2 runs"
    )
    assert mask_does_something(timeline(run("a", 1, [0.5, 0.6], [0.5, 0.7]))).passed is True
    assert mask_does_something(timeline(run("a", 1, [0.0, 0.0], [0.0, 0.0]))).passed is None
    assert mask_does_something(timeline(run("a", 1, [0.5], [0.5]))).passed is None


def masked_run(patched_losses, masked_losses, **masked_more):
    """Accuracies that stay where they are when the cue is covered; losses as given."""
    table = run("a", 1, [0.5, 0.6], [0.5, 0.6])
    for row, loss in zip(table, [*patched_losses, *masked_losses], strict=True):
        row["loss"] = loss
        if masked_more:
            row["acc_task"] = masked_more["acc_task"] if row["split"] == SC_MASK else 0.7
    return table


@pytest.mark.parametrize(
    ("table", "passed", "words"),
    [
        (
            masked_run([2.0, 1.0], [2.0, 1.1]),
            True,
            "a seed 1, but losses differ: the mask works, the predictions do not change",
        ),
        (masked_run([2.0, None], [2.1, 1.0]), True, "losses differ"),
        (masked_run([2.0, None], [2.0, 1.0]), False, "all recorded losses"),
        (
            masked_run([2.0, 1.0], [2.0, 1.0 + 1e-8]),
            False,
            "all recorded losses",
        ),  # the same images, added up otherwise
        (masked_run([2.0, 1.0], [2.0, 1.0], acc_task=0.6), True, "task accuracies differ: the mask works"),
        (masked_run([2.0, 1.0], [2.0, 1.0], acc_task=0.7), False, "all recorded losses"),
        (masked_run([None, None], [None, None], acc_task=0.6), True, "task accuracies differ"),
        (masked_run([None, None], [None, None]), False, "indistinguishable from a mask that does nothing"),
        (masked_run([2.0, None], [None, 1.0]), False, "losses were not recorded for both"),
        (masked_run([2.0, math.inf], [2.0, math.inf]), False, "all recorded losses"),
        (masked_run([2.0, math.inf], [2.0, 1.0]), True, "losses differ"),
    ],
)
def test_a_model_that_ignores_the_cue_is_no_fault(table, passed, words):
    check = mask_does_something(timeline(table))
    assert check.passed is passed
    assert "accuracies are identical at every epoch in a seed 1" in check.detail
    assert words in check.detail


def test_masks_are_judged_at_shared_epochs():
    """An epoch that only one split has says nothing about the mask; an untrained net's accuracies do."""
    more = masked_run([2.0, 1.0], [2.0, 1.0]) + rows("a", 1, "T2", SC_MASK, {3: 0.9})
    assert mask_does_something(timeline(more)).passed is False
    first = rows("a", 1, "T2", SC_PATCH, {0: 0.1}) + rows("a", 1, "T2", SC_MASK, {0: 0.2})
    assert mask_does_something(timeline(masked_run([2.0, 1.0], [2.0, 1.0]), first)).passed is True


def test_one_is_written_as_one():
    pair = timeline(run("scratch_t2", 1, [0.5], [0.3]), run("sgd", 1, [0.6], [0.3]))
    assert seeds_are_paired(pair, "scratch_t2").detail == "1 common seed in 1 method: 1"
    assert same_budget(pair).detail == "1 epoch, measured at 1 point, in all 2 runs"
    assert same_budget(timeline(run("sgd", 1, [0.6], [0.3]))).detail == "1 epoch, measured at 1 point, in the only run"


@pytest.mark.parametrize("patched", [[0.3, 0.4, 0.5], {1: 0.3, 1.5: 0.4, 2: 0.5}])
def test_another_budget_or_grid_is_found(patched):
    other = run("derpp", 1, patched, patched)
    check = same_budget(timeline(sound(), other))
    assert check.passed is False
    assert "derpp seed 1" in check.detail
    assert same_budget(timeline(run("a", 1, {0: 0.1, 1: 0.2}, [0.1]), run("b", 1, [0.3], [0.2]))).passed is True


def test_one_run_under_two_names_is_found():
    copy = [{**row, "seed": 7} for row in sound() if row["method"] == "sgd" and row["seed"] == 1]
    check = no_run_twice(timeline(sound(), copy))
    assert check.passed is False
    assert "sgd seed 1, sgd seed 7" in check.detail
    still = timeline(run("a", 1, [0.0, 0.0], [0.0, 0.0]), run("a", 2, [0.0, 0.0], [0.0, 0.0]))
    assert no_run_twice(still).passed is True


def test_seeds_without_partner_are_found():
    check = seeds_are_paired(timeline(sound(), run("sgd", 3, [0.5, 0.6], [0.3, 0.4])), "scratch_t2")
    assert check.passed is False
    assert check.detail == "sgd: only in sgd 3, only in scratch_t2 none"
    assert seeds_are_paired(timeline(run("scratch_t2", 3, [0.5], [0.3])), "scratch_t2").passed is None


@pytest.mark.parametrize(
    ("split", "meant"),
    [
        ("T2_shortcut_mask", "T2_shortcut_masked"),
        ("t2_shortcut_normal", "T2_shortcut_normal"),
        ("T2-nonshortcut-normal", "T2_nonshortcut_normal"),
        ("T2_shortcutt_clean", "T2_shortcut_clean"),
        ("T2_nonshortcut_masked", None),  # a control of its own, not a slip
        ("T3_shortcut_normal", None),
        ("T1_val", None),
        ("corrupted", None),
    ],
)
def test_a_misspelt_split_is_distinguished_from_an_extra_one(split, meant):
    check = splits_are_known(timeline(sound(), rows("sgd", 1, "T2", split, [0.5])))
    assert check.passed is (meant is None)
    assert (f"did you mean '{meant}'?" if meant else f"ignored: {split}") in check.detail
