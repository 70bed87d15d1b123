"""The words follow the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einstellung.diagnoses.rigidity.card import Delay
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.patterns import Facet, decide, is_saturated, is_unlearned
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.rigidity.verdict import Case, next_probe, verdict

MEANS = {"AD": -5.0, "PD": -0.1, "SFR_rel": 0.1, "CSR_rel": 0.1, "delta": 0.4, "delta_S": 0.3, "SFR_rel_within": None}
LEVELS = {"SC_patch": 0.8, "SC_mask": 0.4, "SC_patch_S": 0.7, "SC_mask_S": 0.4, "NSC_lowest": 0.7}
T_975 = {2: 12.7062047, 3: 4.30265273, 5: 2.77644511}


def values(mean, n, half):
    """``n`` values whose 95 % interval is the mean -+ ``half``."""
    if mean is None:
        return (None,) * n
    shifts = [2 * k / (n - 1) - 1 for k in range(n)]
    unit = (sum(shift**2 for shift in shifts) / (n - 1)) ** 0.5 * T_975[n] / n**0.5
    return tuple(mean + half / unit * shift for shift in shifts)


def case(n=5, paired=(1, 2, 3, 4, 5), half=0.001, classes=60, **means):
    tested = {name: Facet(values(mean, n, half)) for name, mean in {**MEANS, **LEVELS, **means}.items()}
    margins, floor = Margins(), Floor.of(classes)
    decision = decide(tested, margins, floor, len(paired))
    return Case(
        method="sgd",
        baseline="scratch_t2",
        baseline_present=True,
        seeds=(1, 2, 3, 4, 5),
        paired=paired,
        facets={name: facet.summary for name, facet in tested.items()},
        censored={},
        delays={
            0.3: Delay(mean=-4.0, sd=1.0, n=5),
            0.45: Delay(mean=-7.0, sd=1.0, n=3),
            0.55: Delay(mean=-9.0, sd=None, n=1),
        },
        tau=0.6,
        budget=50.0,
        margins=margins,
        floor=floor,
        decision=decision,
        certainty=decision.certainty(decision.p),
        p_holm=decision.p,
        saturated=is_saturated(tested, floor),
        unlearned=is_unlearned(tested, floor),
    )


def test_the_sentence_of_a_red_flag():
    assert verdict(case()) == (
        "Red flag, shortcut-induced rigidity: sgd reaches 0.6 sooner than scratch_t2 (AD = -5.0 epochs [-5.0, -5.0] "
        "<= -1), ends no worse (PD = -0.100 [-0.101, -0.099] <= 0) and relies more on the cue (SFR_rel = +0.100 "
        "[+0.099, +0.101] >= 0.02). Absolute reliance on the cue: Delta = +0.400 [+0.399, +0.401]; scratch_t2: "
        f"Delta_S = +0.300 [+0.299, +0.301]. Conclusive: p = {case().p_holm:.2g} after Holm's correction, and no 95 % "
        "interval crosses its threshold."
    )
    assert next_probe(case()) is None


@pytest.mark.parametrize(
    ("means", "opening"),
    [
        (
            {"PD": 0.1, "SFR_rel": -0.1, "delta": 0.01},
            "Benign avoidance, the cue distracts the continual model",
        ),
        ({"SFR_rel": 0.0}, "Shared shortcut: sgd relies on the cue (Delta = +0.400"),
        (
            {"AD": 2.0, "PD": 0.1, "SFR_rel": -0.1, "delta": 0.01},
            "Benign transfer: sgd is not clearly faster to 0.6 than scratch_t2",
        ),
    ],
)
def test_each_pattern_has_its_sentence_and_the_absolute_reliance(means, opening):
    text = verdict(case(**means))
    assert text.startswith(opening)
    assert f"Absolute reliance on the cue: Delta = {means.get('delta', 0.4):+.3f}" in text
    if opening.startswith("Benign"):
        assert "gains little or nothing from it (Delta = +0.010 [+0.009, +0.011] <= 0.02)" in text
        assert "NSC accuracy is above chance in every seed (lowest 0.6" in text


@pytest.mark.parametrize(
    ("harm", "sensitivity", "words"),
    [
        (-0.1, 0.1, ("harmed more by the cue than", "more sensitive to the cue than")),
        (0.1, -0.05, ("harmed less by the cue than", "less sensitive to the cue than")),
        (0.0, 0.0, ("harmed by the cue as much as", "as sensitive to the cue as")),
    ],
)
def test_a_harmful_cue_is_explained_by_sensitivity(harm, sensitivity, words):
    text = verdict(case(delta_S=-0.05, delta=harm - 0.05 if harm < 0.05 else -0.01, SFR_rel=harm, CSR_rel=sensitivity))
    assert text.startswith("The cue does not help scratch_t2 (Delta_S = -0.050")
    assert all(word in text for word in words)


def test_a_model_that_the_cue_helps_is_not_called_harmed():
    text = verdict(case(delta_S=-0.05, delta=0.7, SFR_rel=0.75, CSR_rel=0.65))
    assert "sgd is helped by the cue, unlike scratch_t2 (SFR_rel = +0.750" in text
    assert "harmed" not in text


def test_doubt_is_said():
    crossing = "Not conclusive: the 95 % intervals of PD and SFR_rel cross their thresholds; p = "
    assert crossing in verdict(case(half=0.11))
    methods = replace(case(), certainty="leans", p_holm=0.08)
    assert "Not conclusive: p = 0.08 after Holm's correction." in verdict(methods)
    assert "Too few seeds to judge certainty (n = 2; at least 3 needed)." in verdict(case(n=2))


def test_censored_seeds_are_named():
    shown = verdict(replace(case(), censored={3: "scratch_t2", 4: "both", 5: "scratch_t2"}))
    assert "AD excludes some seeds: scratch_t2 never reached 0.6 on seeds 3, 5; neither reached 0.6 on seed 4." in shown


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
    assert verdict(nobody).startswith("Ambiguous: no baseline scratch_t2 to compare sgd with.")
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
        "Ambiguous: sgd reaches 0.6 sooner than scratch_t2 (AD = -5.0 epochs [-5.0, -5.0]), ends higher (PD = -0.100 "
        "[-0.101, -0.099]) and relies less on the cue (SFR_rel = -0.100 [-0.101, -0.099]); margins AD 1, PD 0.02, "
        "SFR_rel 0.02. This combination matches no named pattern."
    )
    opposite = verdict(case(AD=3.0, PD=-0.01, SFR_rel=0.1))
    assert "later than scratch_t2" in opposite
    assert "ends equally high" in opposite
    assert "relies more on the cue" in opposite
    assert "within 1 epoch of scratch_t2" in verdict(case(AD=0.5, PD=-0.1, SFR_rel=-0.1))


def test_intervals_that_leave_the_verdict_open_ask_for_seeds():
    assert next_probe(case(half=0.2, SFR_rel=-0.1)) == (
        "run more seeds: with 95 % intervals this wide (PD and SFR_rel), the verdict could still change"
    )


def test_a_saturated_pair_is_told_what_the_index_cannot_say():
    """With both at the floor SFR_rel is -PD, whatever the history did: the reader must know."""
    floored = case(SC_mask=0.009, SC_mask_S=0.012)
    words = verdict(floored)
    assert words.startswith(
        "Saturated: with the cue covered, neither sgd (0.009 [0.008, 0.010]) nor scratch_t2 (0.012 [0.011, 0.013]) is above "
        "the floor (0.050, 3 times chance (1/60)). Both depend on the cue alone, so SFR_rel equals -PD by construction"
    )
    assert "AD = -5.0 epochs" in words
    assert "Measure acc_within to compare the models without the cue." in words
    within = verdict(case(SC_mask=0.009, SC_mask_S=0.012, SFR_rel_within=0.2))
    assert "Restricted to the shortcut classes, SFR_rel_within = +0.200 [+0.199, +0.201]." in within
    assert "Measure acc_within" not in within
    assert "the number of classes is unknown (set it with --classes K)" in verdict(
        case(SC_mask=0.009, SC_mask_S=0.012, classes=None)
    )


def test_a_floor_that_the_intervals_leave_open_is_a_warning():
    """The means are at the floor, the upper ends are not: the pattern stays, with the doubt beside it."""
    near = case(SC_mask=0.02, SC_mask_S=0.03, half=0.04)
    assert (near.saturated, near.decision.pattern) == (False, "red-flag")
    assert (
        "Without the cue both are near chance (0.020 and 0.030, floor 0.050), so read absolute reliance, not SFR_rel; "
        "more seeds would show whether this is saturation."
    ) in verdict(near)
    for masked in ((0.02, 0.3), (0.3, 0.02), (None, 0.02)):
        assert "near chance" not in verdict(case(SC_mask=masked[0], SC_mask_S=masked[1], half=0.04))


@pytest.mark.parametrize(
    ("means", "words"),
    [
        (
            {"PD": 0.1, "SFR_rel": -0.1},
            "Not called benign-avoidance: its absolute reliance on the cue is too high (Delta = +0.400 [+0.399, "
            "+0.401] > 0.02).",
        ),
        (
            {"AD": 2.0, "PD": 0.1, "SFR_rel": -0.1, "delta": 0.0, "NSC_lowest": None},
            "Not called benign-transfer: T2_nonshortcut_normal was not measured, so we cannot check that the other "
            "classes were learned.",
        ),
        (
            {"AD": 2.0, "PD": 0.1, "SFR_rel": -0.1, "delta": 0.0, "NSC_lowest": 0.01},
            "Not called benign-transfer: not every seed learned the other classes (lowest NSC accuracy 0.0",
        ),
        (
            {"AD": 2.0, "PD": 0.1, "SFR_rel": -0.1, "NSC_lowest": None},
            "> 0.02); T2_nonshortcut_normal was not measured",
        ),
    ],
)
def test_a_benign_word_that_is_not_given_says_why(means, words):
    assert case(**means).decision.pattern == "ambiguous"
    assert words in verdict(case(**means))
    assert "Not called" not in verdict(case(SFR_rel=0.0))


@pytest.mark.parametrize(
    ("patched", "unlearned"), [((0.025, 0.01), True), ((0.025, 0.7), False), ((0.7, 0.025), False)]
)
def test_nothing_learned_means_nothing_said(patched, unlearned):
    found = case(SC_patch=patched[0], SC_patch_S=patched[1], SC_mask=0.02, SC_mask_S=0.0)
    assert found.decision.pattern == ("ambiguous" if unlearned else "saturated")
    sentence = (
        "Ambiguous: neither sgd nor scratch_t2 has learned the shortcut classes, even with the cue (accuracies "
        f"{patched[0]:.3f} and {patched[1]:.3f}, floor 0.050, 3 times chance (1/60)), so no facet is meaningful."
    )
    assert (sentence in verdict(found)) is unlearned


@pytest.mark.parametrize(
    ("delays", "words"),
    [
        (
            (-3.0,) * 5,
            "AD is the same in all seeds, so its interval is the measurement resolution, ±0.5 epochs (half an "
            "evaluation step).",
        ),
        (
            (-3.0, -3.0, -3.0, -3.0, -2.9),
            "AD barely varies between seeds, so its interval is the measurement resolution, ±0.5 epochs",
        ),
        ((-3.0, -3.0, -3.0, -3.0, -1.0), None),
    ],
)
def test_delays_that_hardly_differ_are_judged_by_their_resolution(delays, words):
    delay = Facet(delays, resolution=0.5).summary
    text = verdict(replace(case(), facets={**case().facets, "AD": delay}))
    assert words in text if words else "resolution" not in text
