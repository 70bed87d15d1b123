"""Verdicts: on the paper's own numbers, and on every way to be undecided."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from einstellung.diagnoses.confounding.published import SANITY_CHECK, TABLE_4
from einstellung.diagnoses.confounding.score import confounding_score
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    UNDECIDED,
    ceiling_of,
    judge,
    with_verdicts,
)

from .confounded import both, study, three_tasks

SETTINGS = {"chance": 0.5, "margin": 0.1, "level": 0.75}
NONE = {"mean": None, "sd": None, "n": 0, "ci95": None}


def of_five(mean, sd):
    """A summary as five seeds with this mean and deviation, in per cent, would give it."""
    half = stats.t.ppf(0.975, 4) * sd / math.sqrt(5)
    return {"mean": mean / 100, "sd": sd / 100, "n": 5, "ci95": [(mean - half) / 100, (mean + half) / 100]}


def papers_card(variant, model):
    """Table 4 as a card: what the verdicts need."""
    methods = {
        method: {
            "current": {task: of_five(*columns[task]) for task in ("T1", "T2", "T3")},
            "unconfounded": of_five(*columns["unconfounded"]),
            "own_tasks": NONE,
            "own_gap": NONE,
            "images": {"unconfounded": 1500, "tasks": 4500},
            "twins": {},
        }
        for method, columns in TABLE_4[variant, model].items()
    }
    return {**SETTINGS, "tasks": ["T1", "T2", "T3"], "confounders": [], "baseline": "scratch", "methods": methods}


def papers_verdicts(variant, model):
    ceiling = {**of_five(*SANITY_CHECK[model]), "images": 1500, "source": "the paper"}
    card = with_verdicts(papers_card(variant, model), ceiling)
    return {method: record["verdict"]["name"] for method, record in card["methods"].items()}


def test_strict_nn_of_the_paper_is_insidious():
    verdicts = papers_verdicts("strict", "NN")
    assert verdicts["joint"] == NOT_CONFOUNDED
    sequential = ("naive", "ewc", "er", "der", "bgs", "cumulative")
    assert {verdicts[method] for method in sequential} == {INSIDIOUS}
    # 53.6 % and 59.9 % on a task right after learning it: they did not learn what they could be confounded by.
    assert (verdicts["gdumb"], verdicts["fromp"]) == (NOT_LEARNED, NOT_LEARNED)


@pytest.mark.parametrize("model", ["NN", "NeSy"])
def test_in_disjoint_of_the_paper_joint_is_confounded_too(model):
    verdicts = papers_verdicts("disjoint", model)
    aside = {"gdumb"} if model == "NN" else set()  # 62.0 % on T2
    assert {method for method, name in verdicts.items() if name == NOT_LEARNED} == aside
    assert {name for method, name in verdicts.items() if method not in aside} == {CONFOUNDED}


def test_strict_nesy_of_the_paper_stands_on_the_margin():
    """Joint 70.8 and cumulative 69.9 against 80.33 +- 0.91: both intervals hold the margin of ten points."""
    verdicts = papers_verdicts("strict", "NeSy")
    assert (verdicts["joint"], verdicts["cumulative"]) == (UNDECIDED, UNDECIDED)
    assert {verdicts[method] for method in ("naive", "ewc", "er", "der", "bgs", "gdumb")} == {CONFOUNDED}
    assert verdicts["fromp"] == NOT_LEARNED  # 74.7 % on T3


def record(unconfounded, *, tasks=(1.0, 1.0), seeds=3, half=0.01, images=1500):
    """A method by its means; ``half`` is half the width of every interval, none for a single seed."""

    def estimate(mean):
        return {"mean": mean, "sd": None, "n": seeds, "ci95": None if seeds == 1 else [mean - half, mean + half]}

    own = sum(tasks) / len(tasks)
    return {
        "current": {f"T{place}": estimate(mean) for place, mean in enumerate(tasks, start=1)},
        "unconfounded": estimate(unconfounded),
        "own_tasks": estimate(own),
        "own_gap": estimate(own - unconfounded),
        "images": {"unconfounded": images, "tasks": None if images is None else 2 * images},
        "twins": {},
    }


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (record(0.5), CONFOUNDED),
        (record(0.95), NOT_CONFOUNDED),
        (record(0.905), UNDECIDED),  # a gap of .095 +- .01
        (record(0.895), UNDECIDED),  # a gap of .105 +- .01
        (record(0.885), CONFOUNDED),
        (record(0.5, tasks=(1.0, 0.74)), NOT_LEARNED),
        (record(0.5, tasks=(1.0, 0.76)), CONFOUNDED),
        (record(0.5, half=0.45), UNDECIDED),
    ],
)
def test_against_its_own_tasks_the_interval_decides(given, name):
    verdict = judge(given, SETTINGS)
    assert verdict["name"] == name
    assert verdict["against"] == "own tasks"


def test_against_a_ceiling_both_intervals_count():
    given = record(0.8, half=0.03)
    narrow = {"mean": 0.95, "n": 5, "ci95": [0.94, 0.96]}
    verdict = judge(given, SETTINGS, narrow)
    assert verdict["gap"] == pytest.approx(0.15)
    assert verdict["gap_ci95"] == pytest.approx([0.15 - math.hypot(0.01, 0.03), 0.15 + math.hypot(0.01, 0.03)])
    assert verdict["name"] == CONFOUNDED
    assert judge(given, SETTINGS, {"mean": 0.95, "n": 5, "ci95": [0.89, 1.0]})["name"] == UNDECIDED


def test_a_single_seed_has_an_interval_over_images_and_says_so():
    ceiling = {"mean": 0.95, "n": 1, "ci95": None, "images": 1500}
    verdict = judge(record(0.8, seeds=1), SETTINGS, ceiling)
    assert verdict["name"] == CONFOUNDED
    assert verdict["interval"] == "Wilson interval over images of a single seed"
    assert "over images of a single seed" in verdict["sentence"]
    assert judge(record(0.8, seeds=1, images=40), SETTINGS, {**ceiling, "images": 40})["name"] == UNDECIDED
    assert judge(record(0.8, seeds=1), SETTINGS)["interval"] == "Wilson interval over images of a single seed"
    unknown = judge(record(0.8, seeds=1, images=None), SETTINGS)
    assert (unknown["name"], unknown["gap_ci95"]) == (CONFOUNDED, None)
    assert "no interval: one seed, and the number of images is not recorded" in unknown["sentence"]


def test_a_ceiling_at_chance_decides_nothing():
    """A model that cannot learn the truth at all must not be called 'not confounded'."""
    verdict = judge(record(0.55), SETTINGS, {"mean": 0.6, "n": 5, "ci95": [0.58, 0.62]})
    assert verdict["name"] == UNDECIDED
    assert "too close to chance" in verdict["sentence"]


@pytest.mark.parametrize(
    ("joint", "cumulative", "naive", "words"),
    [
        (0.96, 0.7, INSIDIOUS, "Joint training on the same data is not confounded, cumulative training is."),
        (0.96, 0.96, CONFOUNDED, "is not confounded; cumulative training is not confounded either."),
        (0.96, 0.9, CONFOUNDED, "is not confounded; cumulative training is undecided."),
        (0.96, None, CONFOUNDED, "cumulative training was not run: whether the order of the tasks does it is open."),
        (0.5, 0.5, CONFOUNDED, "Joint training is confounded too."),
        (0.9, 0.5, CONFOUNDED, "Joint training is undecided."),
        (None, 0.5, CONFOUNDED, ""),
    ],
)
def test_insidious_needs_joint_training_that_succeeds_and_cumulative_training_that_does_not(
    joint, cumulative, naive, words
):
    ends = {"scratch": 0.5, "naive": 0.5, "cumulative": cumulative, "joint": joint}
    methods = {method: record(end) for method, end in ends.items() if end is not None}
    card = with_verdicts(
        {**SETTINGS, "tasks": ["T1", "T2"], "confounders": [], "baseline": "scratch", "methods": methods}, None
    )
    found = {method: own["verdict"] for method, own in card["methods"].items()}
    assert (found["naive"]["name"], found["scratch"]["name"]) == (naive, CONFOUNDED)
    assert words in found["naive"]["sentence"]
    assert found["naive"]["sentence"].startswith(naive.capitalize())
    if naive == INSIDIOUS:
        assert found["cumulative"]["name"] == INSIDIOUS
        assert found["cumulative"]["sentence"].endswith("Joint training on the same data is not confounded.")


def test_twins_are_evidence_in_the_sentence():
    card = confounding_score(study(three_tasks()), confounders=["blue", "metal", "large"])
    sentence = card["methods"]["naive"]["verdict"]["sentence"]
    assert (
        "taking 'blue' away from positives of T1: 98.0 % -> 20.0 % right; putting it into negatives: 97.0 % -> 22.0 %"
        in (sentence)
    )
    assert "on 1,500 unconfounded images" in sentence
    assert "t interval over 3 seeds" in sentence
    plain = confounding_score(study({"naive": {"T1": both(T1=1.0, unconfounded=0.5)}}))
    assert "taking" not in plain["methods"]["naive"]["verdict"]["sentence"]


def test_the_study_by_hand():
    card = confounding_score(study(three_tasks()))
    names = {method: own["verdict"]["name"] for method, own in card["methods"].items()}
    assert names == {"scratch": CONFOUNDED, "naive": INSIDIOUS, "cumulative": INSIDIOUS, "joint": NOT_CONFOUNDED}
    again = with_verdicts(card, None)
    assert again == card
    higher = with_verdicts(card, {"mean": 1.0, "n": 5, "ci95": [1.0, 1.0], "images": 1500, "source": "a run"})
    assert higher["methods"]["joint"]["verdict"]["gap"] == pytest.approx(0.05)
    assert higher["ceiling"]["source"] == "a run"


def test_a_ceiling_comes_from_a_study_on_the_unconfounded_set():
    ends = {"naive": {"T1": both(T1=0.93, unconfounded=0.94)}, "joint": {"T1": both(T1=0.95, unconfounded=0.96)}}
    card = confounding_score(study(ends, spread=0.01), variant="unconfounded", model="NN")
    assert ceiling_of({**card, "variant": "strict"}, "x") is None
    ceiling = ceiling_of(card, "study nn-unconfounded")
    assert ceiling["mean"] == pytest.approx(0.96)
    assert ceiling["sd"] == pytest.approx(0.01 * 0.6324555, rel=1e-3)
    assert (ceiling["method"], ceiling["images"], ceiling["source"]) == ("joint", 1500, "study nn-unconfounded")
    own = {"naive": {"T1": both(T1=0.93)}}  # its own test images are unconfounded
    only = confounding_score(study(own), variant="unconfounded")
    assert ceiling_of(only, "x")["mean"] == pytest.approx(0.93)


def test_a_study_on_the_unconfounded_set_gets_no_verdict_on_confounding():
    """Its task's test images are the unconfounded ones: against its own task the gap would be zero whatever it learned."""
    ends = {"naive": {"T1": both(T1=0.6, unconfounded=0.6)}, "joint": {"T1": both(T1=0.95, unconfounded=0.95)}}
    card = confounding_score(study(ends, seeds=(1,)), variant="unconfounded")
    naive, joint = (card["methods"][method]["verdict"] for method in ("naive", "joint"))
    assert (naive["name"], joint["name"]) == ("sanity check", "sanity check")
    assert naive["gap"] is None
    assert "60.0 % on 1,500 unconfounded test images, 95 % [57.5 %, 62.5 %]" in naive["sentence"]
    assert "nothing to be confounded by" in naive["sentence"]
    unmeasured = confounding_score(study({"naive": {"T1": both(T1=0.6)}}, seeds=(1,)), variant="unconfounded")
    assert "was not measured" in unmeasured["methods"]["naive"]["verdict"]["sentence"]
