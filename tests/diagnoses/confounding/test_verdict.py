"""Verdicts: on the paper's own numbers, and on every way to be undecided."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from einstellung.diagnoses.confounding.card import Ceiling, ImageCounts, MethodMeasurements
from einstellung.diagnoses.confounding.order import order_effect
from einstellung.diagnoses.confounding.published import read_paper
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.confounding.study import TaskDescription
from einstellung.diagnoses.confounding.verdict import (
    CONFOUNDED,
    INSIDIOUS,
    NOT_CONFOUNDED,
    NOT_LEARNED,
    UNDECIDED,
    Standard,
    ceiling_from,
    ceiling_of,
    judge,
    judge_methods,
)
from einstellung.metrics.statistics import Summary

from .confounded import both, study, three_tasks

STANDARD = Standard(margin=0.1, level=0.75)
NONE = Summary(None, None, 0, None, "none")
NOT_NEEDED = {
    "at_once": False,
    "matrix": {},
    "old": {},
    "forgetting": None,
    "continual": None,
    "train": {},
    "generalisation_gap": {},
    "facets": {},
    "twins": {},
}


def of_five(mean, sd):
    """A summary as five seeds with this mean and deviation, in per cent, would give it."""
    half = stats.t.ppf(0.975, 4) * sd / math.sqrt(5)
    return Summary(mean / 100, sd / 100, 5, ((mean - half) / 100, (mean + half) / 100), "t")


def ceiling(mean, *, ci95=None, n=5, images=None):
    return against(Summary(mean, None, n, ci95, "t" if ci95 else "n = 1: no interval"), images)


def against(estimate, images):
    """The standard with this ceiling."""
    given = Ceiling(**vars(estimate), images=images, method="naive", source="a run")
    return Standard(STANDARD.margin, STANDARD.level, given)


def papers_methods(variant, model):
    """Table 4 as measurements: what the verdicts need."""
    paper = read_paper()
    found = {}
    for method, row in paper.table_4[variant][model].items():
        columns = dict(zip(paper.columns, row, strict=True))
        found[method] = MethodMeasurements(
            **NOT_NEEDED,
            n_seeds=5,
            per_seed={},
            current={task: of_five(*columns[task]) for task in ("T1", "T2", "T3")},
            unconfounded=of_five(*columns["unconfounded"]),
            own_tasks=NONE,
            own_gap=NONE,
            images=ImageCounts(unconfounded=1500, tasks=4500),
        )
    return found


def judged(methods, standard=STANDARD, tasks=("T1", "T2", "T3")):
    order = order_effect(methods, standard.margin)
    return judge_methods(methods, standard, TaskDescription(), baseline="scratch", tasks=tasks, order=order)


def papers_verdicts(variant, model):
    standard = against(of_five(*read_paper().sanity_check[model]), 1500)
    return {method: verdict.name for method, verdict in judged(papers_methods(variant, model), standard).items()}


def test_strict_nn_of_the_paper_is_confounded_and_not_called_insidious_without_its_seeds():
    verdicts = papers_verdicts("strict", "NN")
    assert verdicts["joint"] == NOT_CONFOUNDED
    sequential = ("naive", "ewc", "er", "der", "bgs", "cumulative")
    assert {verdicts[method] for method in sequential} == {CONFOUNDED}
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
        return Summary(mean, None, seeds, None if seeds == 1 else (mean - half, mean + half), "t")

    own = sum(tasks) / len(tasks)
    return MethodMeasurements(
        **NOT_NEEDED,
        n_seeds=seeds,
        per_seed={str(seed): {"unconfounded": unconfounded} for seed in range(seeds)},
        current={f"T{place}": estimate(mean) for place, mean in enumerate(tasks, start=1)},
        unconfounded=estimate(unconfounded),
        own_tasks=estimate(own),
        own_gap=estimate(own - unconfounded),
        images=ImageCounts(unconfounded=images, tasks=None if images is None else 2 * images),
    )


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
    verdict = judge(given, STANDARD)
    assert verdict.name == name
    assert verdict.against == "own tasks"


def test_against_a_ceiling_both_intervals_count():
    given = record(0.8, half=0.03)
    verdict = judge(given, ceiling(0.95, ci95=(0.94, 0.96)))
    assert verdict.gap == pytest.approx(0.15)
    assert verdict.gap_ci95 == pytest.approx([0.15 - math.hypot(0.01, 0.03), 0.15 + math.hypot(0.01, 0.03)])
    assert verdict.name == CONFOUNDED
    assert judge(given, ceiling(0.95, ci95=(0.89, 1.0))).name == UNDECIDED


def test_a_single_seed_has_an_interval_over_images_and_says_so():
    verdict = judge(record(0.8, seeds=1), ceiling(0.95, n=1, images=1500))
    assert verdict.name == CONFOUNDED
    assert verdict.interval == "Wilson interval over images of a single seed"
    assert "over images of a single seed" in verdict.sentence
    assert judge(record(0.8, seeds=1, images=40), ceiling(0.95, n=1, images=40)).name == UNDECIDED
    assert judge(record(0.8, seeds=1), STANDARD).interval == "Wilson interval over images of a single seed"
    unknown = judge(record(0.8, seeds=1, images=None), STANDARD)
    assert (unknown.name, unknown.gap_ci95) == (CONFOUNDED, None)
    assert "no interval: one seed, and the image count was not recorded" in unknown.sentence


def test_a_ceiling_at_chance_decides_nothing():
    """A model that cannot learn the truth at all must not be called 'not confounded'."""
    verdict = judge(record(0.55), ceiling(0.6, ci95=(0.58, 0.62)))
    assert verdict.name == UNDECIDED
    assert "too close to chance" in verdict.sentence


def test_the_margin_decides():
    assert judge(record(0.8), Standard(margin=0.1, level=0.75)).name == CONFOUNDED
    assert judge(record(0.8), Standard(margin=0.3, level=0.75)).name == NOT_CONFOUNDED
    wide = score_tasks(study(three_tasks()), ConfoundingSettings(margin=0.45))
    assert (wide.margin, wide.methods["cumulative"].verdict.name) == (0.45, NOT_CONFOUNDED)


@pytest.mark.parametrize(
    ("joint", "cumulative", "naive", "words"),
    [
        (0.96, 0.7, INSIDIOUS, "is not confounded; cumulative minus joint training -26.0 ± 0.0 points over 3 seeds"),
        (0.96, 0.96, CONFOUNDED, "is not confounded; cumulative training is not confounded either; cumulative minus"),
        (
            0.96,
            0.9,
            CONFOUNDED,
            "is not confounded; cumulative training is undecided; cumulative minus joint training -6.0",
        ),
        (0.96, None, CONFOUNDED, "cumulative training was not run, so whether task order is the cause is unknown."),
        (0.5, 0.5, CONFOUNDED, "Joint training is confounded too."),
        (0.9, 0.5, CONFOUNDED, "Joint training is undecided."),
        (None, 0.5, CONFOUNDED, ""),
    ],
)
def test_insidious_needs_joint_training_that_succeeds_and_cumulative_training_that_does_not(
    joint, cumulative, naive, words
):
    ends = {"scratch": 0.5, "naive": 0.5, "cumulative": cumulative, "joint": joint}
    found = judged({method: record(end) for method, end in ends.items() if end is not None}, tasks=("T1", "T2"))
    assert (found["naive"].name, found["scratch"].name) == (naive, CONFOUNDED)
    assert words in found["naive"].sentence
    assert found["naive"].sentence.startswith(naive.capitalize())
    if naive == INSIDIOUS:
        assert found["cumulative"].name == INSIDIOUS
        assert found["cumulative"].sentence.endswith("(p 0.000 for below -10.0): certain.")


def test_twins_are_evidence_in_the_sentence():
    card = score_tasks(study(three_tasks()), study=TaskDescription(confounders=("blue", "metal", "large")))
    sentence = card.methods["naive"].verdict.sentence
    assert "removing 'blue' from positives of T1: 98.0 % -> 20.0 % right; adding it to negatives: 97.0 % -> 22.0 %" in (
        sentence
    )
    assert "on 1,500 unconfounded images" in sentence
    assert "t interval over 3 seeds" in sentence
    plain = score_tasks(study({"naive": {"T1": both(T1=1.0, unconfounded=0.5)}}))
    assert "removing" not in plain.methods["naive"].verdict.sentence


def test_the_study_by_hand():
    card = score_tasks(study(three_tasks()))
    names = {method: own.verdict.name for method, own in card.methods.items()}
    assert names == {"scratch": CONFOUNDED, "naive": INSIDIOUS, "cumulative": INSIDIOUS, "joint": NOT_CONFOUNDED}
    again = judged(card.methods)
    assert again == {method: own.verdict for method, own in card.methods.items()}
    higher = judged(card.methods, ceiling(1.0, ci95=(1.0, 1.0), images=1500))
    assert higher["joint"].gap == pytest.approx(0.05)
    assert higher["joint"].against == "ceiling"


UNCONFOUNDED = TaskDescription(variant="unconfounded", model="NN", ceiling_key="a net")


def test_a_ceiling_comes_from_a_study_on_the_unconfounded_set():
    ends = {"naive": {"T1": both(T1=0.93, unconfounded=0.94)}, "joint": {"T1": both(T1=0.95, unconfounded=0.96)}}
    card = score_tasks(study(ends, spread=0.01), study=UNCONFOUNDED)
    assert ceiling_of(card.model_copy(update={"variant": "strict"}), "x") is None
    found = ceiling_of(card, "study nn-unconfounded")
    assert found.mean == pytest.approx(0.96)
    assert found.sd == pytest.approx(0.01 * 0.6324555, rel=1e-3)
    assert (found.method, found.images, found.source) == ("joint", 1500, "study nn-unconfounded")
    own = {"naive": {"T1": both(T1=0.93)}}  # its own test images are unconfounded
    only = score_tasks(study(own), study=UNCONFOUNDED)
    assert ceiling_of(only, "x").mean == pytest.approx(0.93)


def test_only_a_comparable_sibling_gives_a_ceiling():
    sibling = score_tasks(study({"naive": {"T1": both(T1=0.96, unconfounded=0.96)}}), study=UNCONFOUNDED)
    strict = TaskDescription(variant="strict", model="NN", ceiling_key="a net")
    assert ceiling_from({"u": sibling}, strict).source == "study u"
    assert ceiling_from({}, strict) is None
    assert ceiling_from({"u": sibling}, TaskDescription(variant="strict", ceiling_key="another net")) is None
    assert ceiling_from({"u": sibling}, TaskDescription(variant="strict")) is None  # somebody's log
    assert ceiling_from({"u": sibling}, UNCONFOUNDED) is None
    card = score_tasks(study(three_tasks()), study=strict, siblings={"u": sibling})
    assert (card.ceiling.mean, card.ceiling.source) == (pytest.approx(0.96), "study u")
    assert {own.verdict.against for own in card.methods.values()} == {"ceiling"}


def test_a_study_on_the_unconfounded_set_gets_no_verdict_on_confounding():
    """Its task's test images are the unconfounded ones: against its own task the gap would be zero whatever it learned."""
    ends = {"naive": {"T1": both(T1=0.6, unconfounded=0.6)}, "joint": {"T1": both(T1=0.95, unconfounded=0.95)}}
    card = score_tasks(study(ends, seeds=(1,)), study=UNCONFOUNDED)
    naive, joint = (card.methods[method].verdict for method in ("naive", "joint"))
    assert (naive.name, joint.name) == ("sanity check", "sanity check")
    assert naive.gap is None
    assert "60.0 % on 1,500 unconfounded test images, 95 % [57.5 %, 62.5 %]" in naive.sentence
    assert "This training set has no confounder." in naive.sentence
    unmeasured = score_tasks(study({"naive": {"T1": both(T1=0.6)}}, seeds=(1,)), study=UNCONFOUNDED)
    assert "was not measured" in unmeasured.methods["naive"].verdict.sentence
