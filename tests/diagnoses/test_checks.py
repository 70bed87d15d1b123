"""Checks that several diagnoses share: each passes on a sound log, finds its defect, and leaves open what was not recorded."""

from __future__ import annotations

import pandas as pd
import pytest

from einstellung.diagnoses.checks import (
    same_budget_over_seeds,
    same_images,
    seeds_are_paired,
    seeds_differ,
    twins_are_paired,
    twins_change_something,
)
from einstellung.timeline import Timeline

PAIRS = [("T1_paired", "T1_twin")]


def frame(methods=("a", "b"), seeds=(1, 2), splits=("T1_val", "T1_paired", "T1_twin"), epochs=(0, 1, 2), **columns):
    """Curves that differ in everything that they may differ in."""
    rows = [
        (method, seed, "T1", float(epoch), split, 0.5 + epoch / 10, 1 + place / 10 + seed / 100 + epoch / 1000, 50)
        for method in methods
        for seed in seeds
        for place, split in enumerate(splits)
        for epoch in epochs
    ]
    names = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
    return pd.DataFrame(rows, columns=names).assign(**columns)


def among(table, **values):
    found = pd.Series(True, index=table.index)
    for column, value in values.items():
        found &= table[column] == value
    return found


@pytest.mark.parametrize(
    "check",
    [
        same_images,
        same_budget_over_seeds,
        seeds_differ,
        lambda timeline: seeds_are_paired(timeline, "a"),
        lambda timeline: twins_are_paired(timeline, PAIRS),
        lambda timeline: twins_change_something(timeline, PAIRS),
    ],
)
def test_a_sound_log_passes(check):
    assert check(Timeline(frame())).passed is True


def test_another_number_of_images_is_found():
    table = frame()
    check = same_images(Timeline(table.assign(n=table["n"].where(~among(table, method="b", split="T1_val"), 49))))
    assert (check.passed, check.detail) == (False, "T1_val: 49 or 50")
    assert same_images(Timeline(frame(n=None))).passed is None


def test_budgets_of_seeds_are_compared_and_those_of_methods_reported():
    table = frame(epochs=(0, 1, 2, 3, 4))
    shorter = table[~(among(table, method="b") & (table["epoch"] > 2))].reset_index(drop=True)
    check = same_budget_over_seeds(Timeline(shorter))
    assert (check.passed, check.detail) == (True, "a: T1 4 effective epochs; b: T1 2 effective epochs")
    one_seed = table[~(among(table, method="b", seed=2) & (table["epoch"] > 2))].reset_index(drop=True)
    check = same_budget_over_seeds(Timeline(one_seed))
    assert (check.passed, check.detail) == (False, "b: T1 2 to 4 effective epochs")


@pytest.mark.parametrize(("pace", "passed"), [(0.95, True), (0.61, True), (0.59, False)])
def test_a_few_images_more_in_a_buffer_are_no_other_budget(pace, passed):
    """As long as a seed was measured as often and is not much shorter."""
    table = frame(epochs=(0, 1, 2, 3, 4))
    slower = table.assign(epoch=table["epoch"].where(~among(table, method="b", seed=2), table["epoch"] * pace))
    assert same_budget_over_seeds(Timeline(slower)).passed is passed


def test_a_phase_that_a_seed_lacks_is_another_budget():
    second = frame().assign(phase="T2")
    table = pd.concat([frame(), second[~among(second, method="a", seed=2)]], ignore_index=True)
    check = same_budget_over_seeds(Timeline(table))
    assert (check.passed, check.detail) == (False, "a: T1 2, T2 2 effective epochs")


def test_one_run_under_two_names_is_found():
    table = frame()
    copy = table[among(table, method="a", seed=1)].assign(seed=2)
    check = seeds_differ(Timeline(pd.concat([table[~among(table, method="a", seed=2)], copy], ignore_index=True)))
    assert (check.passed, check.detail) == (False, "a seed 1 and a seed 2")
    assert seeds_differ(Timeline(frame(seeds=(1,)))).passed is None


def test_seeds_without_partner_are_found():
    table = frame(seeds=(1, 2, 3))
    kept = table[~among(table, method="b", seed=3)].reset_index(drop=True)
    check = seeds_are_paired(Timeline(kept), "a")
    assert (check.passed, check.detail) == (False, "b: only in b none, only in a 3")
    assert seeds_are_paired(Timeline(kept), None).passed is None
    assert seeds_are_paired(Timeline(frame(methods=("a",))), "a").passed is None


def test_twins_that_are_missing_or_measured_otherwise_are_found():
    table = frame()
    twin = among(table, split="T1_twin", method="a", seed=1)
    missing = twins_are_paired(Timeline(table[~twin].reset_index(drop=True)), PAIRS)
    assert (missing.passed, missing.detail) == (False, "a seed 1, T1: T1_twin is missing")
    late = twins_are_paired(Timeline(table.assign(epoch=table["epoch"].where(~twin, table["epoch"] + 1))), PAIRS)
    assert (late.passed, late.detail) == (False, "a seed 1, T1: T1_twin was evaluated at different epochs")
    fewer = twins_are_paired(Timeline(table.assign(n=table["n"].where(~twin, 49))), PAIRS)
    assert (fewer.passed, fewer.detail) == (False, "a seed 1, T1: T1_twin has 49 images, its originals 50")
    assert twins_are_paired(Timeline(table), []).passed is None


def test_equal_accuracies_are_no_fault_and_equal_losses_are_copies():
    table = frame()
    assert table["acc"].groupby(table["epoch"]).nunique().eq(1).all()
    originals = table[among(table, split="T1_paired")]
    copies = pd.concat([table[table["split"] != "T1_twin"], originals.assign(split="T1_twin")], ignore_index=True)
    check = twins_change_something(Timeline(copies), PAIRS)
    assert check.passed is False
    assert check.detail.startswith("a seed 1, T1: T1_twin has the same losses as T1_paired; ")
    assert twins_change_something(Timeline(frame(loss=None)), PAIRS).passed is None
