"""Every check passes on a whole timeline and fails where its defect is planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.timeline import Timeline

from .confounded import both, study, three_tasks

PHASES = "every phase was recorded"
LABELS = "positives and negatives are both measured"
ENDS = "all splits are measured at the end of every phase"
IMAGES = "every run was evaluated on the same number of images"
PAIRS = "twins and originals are evaluated alike"
TWINS = "twins differ from their originals"
BUDGET = "all seeds of a method have the same budget"
UNTRAINED = "no task is solved before training"
SEEDS = "no two seeds of a method are identical"
NAMES = "split names are recognised"


def checks_of(frame):
    card = score_tasks(Timeline(frame.reset_index(drop=True)))
    return {check.name: check for check in card.checks}


@pytest.fixture(scope="module")
def frame():
    return study(three_tasks(), spread=0.01).frame


def test_a_whole_timeline_passes(frame):
    checks = checks_of(frame)
    assert {name: check.passed for name, check in checks.items()} == dict.fromkeys(checks, True)
    assert "joint in one phase, all tasks at once" in checks[PHASES].detail
    assert "scratch, naive, cumulative: T1 4, T2 4, T3 4 effective epochs; joint: T3 4 effective epochs" in (
        checks[BUDGET].detail
    )


def rows_of(frame, **values):
    found = np.ones(len(frame), dtype=bool)
    for column, value in values.items():
        found &= (frame[column] == value).to_numpy()
    return found


def without_phase(frame):
    return frame[~rows_of(frame, method="naive", seed=2, phase="T2")]


def without_negatives(frame):
    return frame[frame["split"] != "unconfounded_negative"]


def without_an_end(frame):
    return frame[~rows_of(frame, method="naive", seed=2, phase="T2", split="T1_positive", epoch=4.0)]


def other_images(frame):
    return frame.assign(n=frame["n"].where(~rows_of(frame, method="naive", seed=2, split="T1_val"), 1499))


def other_twins(frame):
    return frame.assign(n=frame["n"].where(frame["split"] != "T2_positive_twin", 599))


def no_twins_of_some(frame):
    return frame[~rows_of(frame, method="naive", seed=1, split="T3_negative_twin")]


def twins_that_are_copies(frame):
    originals = frame[rows_of(frame, method="naive", split="T2_positive_paired")].assign(split="T2_positive_twin")
    return without(frame, method="naive", split="T2_positive_twin", and_then=originals)


def without(frame, and_then, **values):
    return pd.concat([frame[~rows_of(frame, **values)], and_then])


def shorter_seed(frame):
    return frame[~(rows_of(frame, method="naive", seed=3, phase="T3") & (frame["epoch"] > 3).to_numpy())]


def clever_from_the_start(frame):
    return frame.assign(
        acc=frame["acc"].where(
            ~(rows_of(frame, method="naive", seed=1, phase="T1", epoch=0.0) & frame["split"].str.startswith("T1_")),
            0.97,
        )
    )


def seed_twice(frame):
    copy = frame[rows_of(frame, method="naive", seed=1)].assign(seed=2)
    return without(frame, method="naive", seed=2, and_then=copy)


def misspelt(frame):
    return frame.assign(split=frame["split"].replace({"T1_val": "T1_vall"}))


@pytest.mark.parametrize(
    ("plant", "name", "words"),
    [
        (without_phase, PHASES, "naive seed 2 has no rows of T2"),
        (without_negatives, LABELS, "scratch seed 1 lacks unconfounded_negative"),
        (without_an_end, ENDS, "naive seed 2 after T2: T1_positive"),
        (other_images, IMAGES, "T1_val: 1499 or 1500"),
        (other_twins, PAIRS, "T2_positive_twin has 599 images, its originals 600"),
        (no_twins_of_some, PAIRS, "T3_negative_twin is missing"),
        (twins_that_are_copies, TWINS, "T2_positive_twin has the same losses as T2_positive_paired"),
        (shorter_seed, BUDGET, "naive: T1 4, T2 4, T3 3 to 4 effective epochs"),
        (clever_from_the_start, UNTRAINED, "0.970 (naive seed 1, T1)"),
        (seed_twice, SEEDS, "naive seed 1 and naive seed 2"),
        (misspelt, NAMES, "unrecognised: T1_vall"),
    ],
)
def test_a_planted_defect_is_found(frame, plant, name, words):
    check = checks_of(plant(frame))[name]
    assert check.passed is False
    assert words in check.detail


def test_what_was_not_recorded_is_not_judged():
    plain = study({"naive": {"T1": both(T1=0.9, unconfounded=0.8)}}, seeds=(1,), start=False, n=None, loss=None)
    checks = checks_of(plain.frame)
    unknown = {name for name, check in checks.items() if check.passed is None}
    assert unknown == {IMAGES, PAIRS, TWINS, UNTRAINED, SEEDS, "seeds are paired with the baseline"}


def test_an_untrained_net_may_lean_towards_a_confounder(frame):
    """One untrained set transformer of six is more than .2 from chance on a task of attributes: nothing is wrong with it."""
    start = (frame["epoch"] == 0).to_numpy()
    leaning = frame.assign(acc=frame["acc"].where(~start, 0.85))
    assert checks_of(leaning)[UNTRAINED].passed is True


def test_seeds_whose_buffers_hold_a_few_images_more_had_the_same_budget(frame):
    slower = rows_of(frame, method="naive", seed=2, phase="T3")
    drawn = frame.assign(epoch=frame["epoch"].where(~slower, frame["epoch"] * 0.93))
    check = checks_of(drawn)[BUDGET]
    assert check.passed is True
    assert "T3 3.72 to 4 effective epochs" in check.detail
    half = frame.assign(epoch=frame["epoch"].where(~slower, frame["epoch"] * 0.5))
    assert checks_of(half)[BUDGET].passed is False


def test_strange_splits_stay_aside():
    ends = {"naive": {"T1": both(T1=0.9, unconfounded=0.8) | {"mine": 0.5}}}
    check = checks_of(study(ends).frame)[NAMES]
    assert check.passed is True
    assert check.detail == "4 known splits; ignored: mine"
