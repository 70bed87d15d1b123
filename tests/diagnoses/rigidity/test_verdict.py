"""The words follow the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einstellung.diagnoses.rigidity.card import Delay
from einstellung.diagnoses.rigidity.patterns import decide
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.rigidity.verdict import Case, Ends, next_probe, verdict
from einstellung.metrics.statistics import Summary

UNDEFINED = Summary(None, None, 0, None, "none")


def case(n=5, paired=(1, 2, 3, 4, 5), half=0.001, **means):
    values = {"AD": -5.0, "PD": -0.1, "SFR_rel": 0.1, "CSR_rel": 0.1, "delta": 0.4, "delta_S": 0.3, **means}
    facets = {
        name: UNDEFINED if mean is None else Summary(mean, half, n, (mean - half, mean + half), "t")
        for name, mean in values.items()
    }
    margins = Margins()
    return Case(
        method="sgd",
        baseline="scratch_t2",
        baseline_present=True,
        seeds=(1, 2, 3, 4, 5),
        paired=paired,
        facets=facets,
        censored={},
        delays={
            0.3: Delay(mean=-4.0, sd=1.0, n=5),
            0.45: Delay(mean=-7.0, sd=1.0, n=3),
            0.55: Delay(mean=-9.0, sd=None, n=1),
        },
        tau=0.6,
        budget=50.0,
        margins=margins,
        decision=decide(facets, margins, len(paired)),
    )


def test_the_sentence_of_a_red_flag():
    assert verdict(case()) == (
        "Red flag, shortcut-induced rigidity: sgd reaches 0.6 sooner than scratch_t2 "
        "(AD = -5.0 epochs [-5.0, -5.0] <= -1), ends no worse (PD = -0.100 [-0.101, -0.099] <= 0) and leans more on the cue "
        "(SFR_rel = +0.100 [+0.099, +0.101] >= 0.02). "
        "Absolute reliance on the cue: Delta = +0.400 [+0.399, +0.401], beside Delta_S = +0.300 [+0.299, +0.301] "
        "of scratch_t2. Every 95 % interval that this needs stays on its side."
    )
    assert next_probe(case()) is None


@pytest.mark.parametrize(
    ("means", "opening"),
    [
        ({"PD": 0.1, "SFR_rel": -0.1}, "Benign avoidance, the cue distracts the continual model"),
        ({"SFR_rel": 0.0}, "Shared shortcut: sgd leans on the cue (Delta = +0.400"),
        (
            {"AD": 2.0, "PD": 0.1, "SFR_rel": -0.1},
            "Benign transfer: sgd reaches 0.6 not clearly sooner than scratch_t2",
        ),
    ],
)
def test_each_pattern_has_its_sentence_and_the_absolute_reliance(means, opening):
    text = verdict(case(**means))
    assert text.startswith(opening)
    assert "Absolute reliance on the cue: Delta = +0.400" in text


@pytest.mark.parametrize(
    ("harm", "sensitivity", "words"),
    [
        (-0.1, 0.1, ("more hurt by it than", "more sensitive to the cue than")),
        (0.1, -0.05, ("less hurt by it than", "less sensitive to the cue than")),
        (0.0, 0.0, ("hurt by it as much as", "as sensitive to the cue as")),
    ],
)
def test_a_harmful_cue_is_explained_by_sensitivity(harm, sensitivity, words):
    text = verdict(case(delta_S=-0.05, SFR_rel=harm, CSR_rel=sensitivity))
    assert text.startswith("The cue does not help scratch_t2 (Delta_S = -0.050")
    assert all(word in text for word in words)


def test_doubt_is_said():
    assert "It leans that way only: the 95 % interval of PD, SFR_rel crosses its bound." in verdict(case(half=0.11))
    assert "Too few seeds to tell how sure that is (n = 2, 3 are needed)." in verdict(case(n=2))


def test_censored_seeds_are_named():
    shown = verdict(replace(case(), censored={3: "scratch_t2", 4: "both", 5: "scratch_t2"}))
    assert "AD leaves seeds out: scratch_t2 never reached 0.6 on seeds 3, 5; neither reached 0.6 on seed 4." in shown


def test_an_undefined_delay_says_why_and_what_to_run():
    undefined = replace(case(AD=None), censored=dict.fromkeys((1, 2, 3, 4, 5), "scratch_t2"))
    assert verdict(undefined).startswith(
        "Ambiguous: AD is undefined (scratch_t2 never reached 0.6 on seeds 1, 2, 3, 4, 5)."
    )
    # the highest threshold at which most seeds have a delay, not the highest of all
    assert next_probe(undefined) == (
        "lower tau to 0.45, where AD = -7.0 on 3 of 5 seeds, or train longer than 50 effective epochs"
    )
    nothing = replace(undefined, delays={0.3: Delay(mean=None, sd=None, n=0)})
    assert next_probe(nothing) == "train longer than 50 effective epochs, or lower tau: 0.6 is out of reach"


def test_without_a_partner_the_probe_is_to_train_one():
    nobody = replace(case(AD=None, PD=None, SFR_rel=None, delta_S=None, paired=()), baseline_present=False)
    assert verdict(nobody).startswith("Ambiguous: there is no baseline scratch_t2 to compare sgd with.")
    assert "Absolute reliance on the cue: Delta = +0.400 [+0.399, +0.401]." in verdict(nobody)
    assert next_probe(nobody) == (
        "train scratch_t2 on T2 with seeds 1, 2, 3, 4, 5: without it AD, PD and SFR_rel are undefined"
    )
    strangers = replace(nobody, baseline_present=True)
    assert "sgd and scratch_t2 have no seed in common" in verdict(strangers)


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ({"PD": None, "SFR_rel": None, "AD": None}, "measure T2_shortcut_normal"),
        ({"SFR_rel": None}, "measure T2_shortcut_masked"),
        ({"AD": 3.0}, "counterfactual cue placement"),
        ({"PD": 0.01, "SFR_rel": -0.1}, "CKA between the T1 and T2 models"),
        ({"SFR_rel": 0.0, "delta": 0.0}, "calibration (ECE) under masking"),
    ],
)
def test_the_next_probe_follows_from_what_is_missing(means, words):
    assert case(**means).decision.pattern == "ambiguous"
    assert next_probe(case(**means)).startswith(words)


def test_few_seeds_ask_for_more():
    assert next_probe(case(AD=3.0, paired=(1,))) == "run 2 more seeds of sgd and scratch_t2"
    assert next_probe(case(AD=3.0, paired=(1, 2))) == "run 1 more seed of sgd and scratch_t2"


def test_an_unnamed_combination_still_says_which_way_each_facet_points():
    words = verdict(case(SFR_rel=-0.1))
    assert words.startswith(
        "Ambiguous: sgd reaches 0.6 sooner than scratch_t2 (AD = -5.0 epochs [-5.0, -5.0]), ends higher "
        "(PD = -0.100 [-0.101, -0.099]) and leans less on the cue (SFR_rel = -0.100 [-0.101, -0.099]) "
        "(margins AD 1, PD 0.02, SFR_rel 0.02); none of the named patterns is that combination."
    )
    opposite = verdict(case(AD=3.0, PD=-0.01, SFR_rel=0.1))
    assert "later than scratch_t2" in opposite
    assert "ends as high" in opposite
    assert "leans more on the cue" in opposite
    assert "within 1 epoch of scratch_t2" in verdict(case(AD=0.5, PD=-0.1, SFR_rel=-0.1))


def test_intervals_that_leave_the_verdict_open_ask_for_seeds():
    assert next_probe(case(half=0.2, SFR_rel=-0.1)) == (
        "run more seeds: the 95 % interval of PD, SFR_rel is wide enough for another verdict"
    )


def test_a_floor_is_named_where_both_masked_accuracies_are_next_to_nothing():
    """With both at the floor SFR_rel is -PD, whatever the history did: the reader must know."""
    floored = verdict(replace(case(PD=0.1, SFR_rel=-0.1), ends=Ends((0.6, 0.7), (0.009, 0.012))))
    assert "next to nothing is left in either (0.009 and 0.012)" in floored
    assert "SFR_rel hardly says more than -PD" in floored
    for ends in (None, Ends((0.6, 0.7), (0.009, 0.3)), Ends((0.6, 0.7), (0.3, 0.009))):
        assert "next to nothing" not in verdict(replace(case(PD=0.1, SFR_rel=-0.1), ends=ends))


@pytest.mark.parametrize(
    ("patched", "masked", "floor", "unlearned"),
    [
        ((0.025, 0.0), (0.02, 0.0), False, True),
        ((0.025, 0.099), (0.0, 0.0), False, True),
        ((0.18, 0.7), (0.09, 0.01), True, False),  # Delta is just half of it
        ((0.17, 0.7), (0.09, 0.01), False, False),
        ((0.03, 0.7), (0.03, 0.01), False, False),  # only one of them knows the classes
        ((0.05, 0.05), (0.4, 0.01), False, False),  # known well, but for the cue
    ],
)
def test_a_floor_is_not_named_where_the_cue_lifts_nothing(patched, masked, floor, unlearned):
    words = verdict(replace(case(PD=0.1, SFR_rel=-0.1), ends=Ends(patched, masked)))
    assert ("Delta is nearly all of the accuracy with the cue" in words) is floor
    sentence = (
        f"Neither has learned the shortcut classes ({patched[0]:.3f} and {patched[1]:.3f} even with the cue): "
        "no facet means anything yet."
    )
    assert (sentence in words) is unlearned
