"""The answer in words is decided by the scorecard and nothing else."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.answer import answer

from .hand_made import scorecard, seed, typed


@pytest.mark.parametrize(
    ("pattern", "certainty", "expected"),
    [
        (
            "red-flag",
            "holds",
            "ewc_on is faster than scratch_t2, no worse with the cue present, and leaning on",
        ),
        ("red-flag", "leans", "By the means ewc_on is faster than scratch_t2"),
        ("red-flag", "too few seeds", "there are too few seeds to tell."),
        ("shared-shortcut", "holds", "leaning on the cue just as scratch_t2 does"),
        ("benign-avoidance", "holds", "worse with the cue present and leaning on it less"),
        ("benign-transfer", "holds", "ewc_on is not leaning on the cue more than scratch_t2"),
        ("cue-harmful", "holds", "the cue hurts scratch_t2 itself"),
    ],
)
def test_each_pattern_has_its_sentence(card, pattern, certainty, expected):
    card["methods"]["ewc_on"] |= {"pattern": pattern, "certainty": certainty}
    first = answer(typed(card))[0]
    assert expected in first
    assert f"({pattern})" in first
    assert ("every 95 % interval that this needs agrees" in first) == (certainty == "holds")
    assert "gpm is not decided by these data (ambiguous)." in first


def test_absolute_reliance_is_told_by_the_interval(card):
    # ewc_on: Δ .40 .41 .39; gpm: .15 .16 .14; scratch_t2: .20 .19 .18: all intervals lie above 0.
    assert "Covering the cue costs accuracy in scratch_t2 (Δ +0.190, 95 % [+0.165, +0.215])" in answer(typed(card))[1]
    card["methods"]["gpm"]["delta"]["ci95"] = [-0.01, 0.3]
    card["methods"]["ewc_on"]["delta"] |= {"mean": -0.4, "ci95": [-0.5, -0.3]}
    second = answer(typed(card))[1]
    assert "Covering the cue helps in ewc_on (Δ −0.400, 95 % [−0.500, −0.300])." in second
    assert "is open in gpm" in second


def test_without_a_baseline_nothing_relative_is_said(card):
    del card["methods"]["scratch_t2"]
    assert answer(typed(card))[0].startswith("There is no baseline")


def test_without_a_continual_learner_there_is_nothing_to_compare():
    lonely = scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}})
    assert answer(typed(lonely))[0].startswith("There is no continual learner")
    assert "too few seeds for an interval" in answer(typed(lonely))[1]


def test_unmeasured_reliance_is_said():
    blind = scorecard({"scratch_t2": {"1": seed(8, 0.6, None)}, "sgd": {"1": seed(8, 0.6, None)}})
    assert answer(typed(blind))[1].startswith("Absolute reliance on the cue was not measured")


def test_many_models_are_summed_up():
    runs = {"scratch_t2": {"1": seed(8, 0.6, 0.5)}}
    runs |= {f"m{number}": {"1": seed(4, 0.7, 0.7 - number / 10)} for number in range(1, 7)}
    second = answer(typed(scorecard(runs)))[1]
    assert "7 models, from" in second
    assert "m6 (Δ +0.600)" in second
    assert "m3" not in second


def test_a_floor_is_part_of_the_answer(card):
    """A pattern that sounds harmless must not stand alone where the models live on the cue."""
    assert "next to nothing" not in answer(typed(card))[0]
    card["methods"]["ewc_on"]["masked_floor"] = True
    assert "With the cue covered next to nothing is left in scratch_t2, ewc_on:" in answer(typed(card))[0]
    for method in card["methods"]:
        card["methods"][method]["masked_floor"] = True
    assert "next to nothing is left in all of them:" in answer(typed(card))[0]


def test_models_that_learned_nothing_are_part_of_the_answer(card):
    others = [method for method in card["methods"] if method != "scratch_t2"]
    assert "has learned" not in answer(typed(card))[0]
    card["methods"]["ewc_on"]["unlearned"] = True
    assert (
        "Neither scratch_t2 nor ewc_on has learned the shortcut classes, even with the cue:" in answer(typed(card))[0]
    )
    for method in others:
        card["methods"][method]["unlearned"] = True
    assert "None of them has learned the shortcut classes, even with the cue:" in answer(typed(card))[0]
