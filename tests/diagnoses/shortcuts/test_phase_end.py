"""One method at the end of a phase: ID accuracy, gaps in every weighting, amplification, reliance, the facets of a history."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.diagnoses.shortcuts.splits import patterns_of

from .timelines import (
    BOTH,
    CUES,
    LEANS,
    PAPERLIKE,
    SWITCH,
    TURNED,
    groups,
    moved,
    rows_of,
    study,
    timeline_of,
    two_cues,
    with_twins,
)


def own(card, method, phase="T1", weighting="own"):
    return card.methods[method].phases[phase].measured_from(weighting)


def test_id_accuracy_and_the_three_gaps_by_hand():
    card = score_shortcuts(study({"erm": {"T1": two_cues(0.98, 0.86, 0.82, 0.28)}}, seeds=(1,)), **BOTH)
    end = own(card, "erm")
    whole = 0.9025 * 0.98 + 0.0475 * (0.86 + 0.82) + 0.0025 * 0.28
    assert end.ID.mean == pytest.approx(whole)
    assert end.gaps["background"].mean == pytest.approx(0.82 - whole)  # A01: the background is uncommon
    assert end.gaps["co-object"].mean == pytest.approx(0.86 - whole)
    assert end.gaps["background+co-object"].mean == pytest.approx(0.28 - whole)
    assert own(card, "erm", weighting="common").gaps["background"].mean == pytest.approx(0.82 - 0.98)
    assert card.weights["T1"] == pytest.approx({"11": 0.9025, "10": 0.0475, "01": 0.0475, "00": 0.0025})


def test_accuracy_of_a_pattern_is_the_mean_over_classes_and_the_worst_group_the_lowest_of_all():
    rows = [
        row for seed in (1, 2) for row in rows_of("erm", seed, "T1", groups(two_cues(0.9, 0.8, 0.7, 0.4), tilt=0.1))
    ]
    end = score_shortcuts(timeline_of(rows), **BOTH).methods["erm"].phases["T1"]
    assert end.patterns["00"].mean == pytest.approx(0.4)
    assert end.groups["group_0_00"].mean == pytest.approx(0.5)
    assert end.worst_group.mean == pytest.approx(0.3)
    assert end.worst_group_name == "group_1_00"


def test_the_baselines_amplification_is_one_for_itself_and_nobodys_difference_is_made_up():
    card = score_shortcuts(study(PAPERLIKE, spread=0.02), **BOTH)
    for found in own(card, "erm").amplification.values():
        assert found.value == pytest.approx(1)
        assert found.ci95 == pytest.approx([1, 1])
        assert found.per_seed.mean == pytest.approx(1)
    cutmix = own(card, "cutmix")
    expected = cutmix.gaps["background"].mean / own(card, "erm").gaps["background"].mean
    assert cutmix.amplification["background"].value == pytest.approx(expected)
    assert expected > 2.5
    assert cutmix.difference["background"].mean == pytest.approx(
        cutmix.gaps["background"].mean - own(card, "erm").gaps["background"].mean
    )


def test_amplification_is_null_where_the_baseline_has_no_gap():
    flat = two_cues(0.95, 0.95, 0.95, 0.9)
    card = score_shortcuts(study({"erm": {"T1": flat}, "sd": {"T1": two_cues(0.95, 0.5, 0.9, 0.4)}}), **BOTH)
    found = own(card, "sd").amplification["co-object"]
    assert found.value is None
    assert "within 0.01 of 0" in found.interval
    assert found.per_seed.mean is None


def test_three_cues_have_seven_gaps_with_weights_from_their_own_correlations():
    patterns = {p: 0.9 - 0.3 * p.count("0") / 3 - (0.1 if p == "011" else 0) for p in patterns_of(3)}
    card = score_shortcuts(study({"erm": {"T1": patterns}}), cues=("b", "c", "w"), correlations=(0.9, 0.8, 0.6))
    end = own(card, "erm")
    assert card.gaps == ("b", "c", "w", "b+c", "b+w", "c+w", "b+c+w")
    assert card.weights["T1"]["010"] == pytest.approx(0.1 * 0.8 * 0.4)
    assert end.gaps["b+w"].mean == pytest.approx(patterns["010"] - end.ID.mean)


def test_one_cue_is_enough():
    card = score_shortcuts(study({"erm": {"T1": {"1": 0.9, "0": 0.6}}}), correlations=(0.9,))
    assert own(card, "erm").gaps["cue 1"].mean == pytest.approx(0.6 - (0.9 * 0.9 + 0.1 * 0.6))


def test_amplification_is_null_where_the_baseline_gains_by_the_uncommon():
    ends = {"erm": {"T1": two_cues(0.9, 0.95, 0.7, 0.4)}, "sd": {"T1": two_cues(0.9, 0.8, 0.7, 0.4)}}
    found = score_shortcuts(study(ends), **BOTH).methods["sd"].phases["T1"].own.amplification
    assert found["co-object"].value is None
    assert found["co-object"].interval == "none: the denominator is above 0"
    assert found["co-object"].per_seed.mean is None
    assert found["background"].value is not None


def test_gaps_of_a_phase_with_its_own_weights_with_fixed_ones_and_against_the_all_common_pattern():
    card = score_shortcuts(study(moved()), cues=CUES, correlations=SWITCH)
    end = card.methods["erm"].phases["T2"]
    own = 0.475 * (0.95 + 0.8) + 0.025 * (0.65 + 0.5)  # weights 11 and 01 .475, 10 and 00 .025
    fixed = 0.475 * (0.95 + 0.65) + 0.025 * (0.8 + 0.5)  # those of T1: 11 and 10 .475
    assert end.own.gaps["background"].mean == pytest.approx(0.8 - own)
    assert end.fixed.gaps["background"].mean == pytest.approx(0.8 - fixed)
    assert end.common.gaps["background"].mean == pytest.approx(0.8 - 0.95)
    assert card.fixed_weights.source == "T1"
    given = score_shortcuts(
        study(moved()), cues=CUES, correlations=SWITCH, weights={"11": 1, "10": 0, "01": 0, "00": 0}
    )
    assert given.fixed_weights.source == "given"
    assert given.methods["erm"].phases["T2"].fixed.gaps["background"].mean == pytest.approx(-0.15)


def test_a_turned_phase_is_judged_by_what_is_common_in_its_own_training():
    card = score_shortcuts(study(LEANS), cues=CUES, correlations=TURNED)
    end = card.methods["erm"].phases["T2"]
    whole = 0.9025 * 0.95 + 0.0475 * (0.5 + 0.8) + 0.0025 * 0.4  # 00 is the commonest pattern of T2
    assert end.own.ID.mean == pytest.approx(whole)
    # where the background contradicts the training of T2 it goes with the label, and the co-object against it: pattern 10
    assert end.own.gaps["background"].mean == pytest.approx(0.5 - whole)
    assert end.own.gaps["co-object"].mean == pytest.approx(0.8 - whole)
    assert end.own.gaps["background+co-object"].mean == pytest.approx(0.4 - whole)
    assert end.alone.gaps["background"].mean == pytest.approx(0.5 - 0.95)
    # by the first phase's weights and by the label, nothing is turned
    assert end.fixed.gaps["background"].mean == pytest.approx(
        0.8 - (0.9025 * 0.4 + 0.0475 * (0.8 + 0.5) + 0.0025 * 0.95)
    )
    assert end.common.gaps["background"].mean == pytest.approx(0.8 - 0.4)
    assert card.common_values == {
        "T1": {"background": "with the label", "co-object": "with the label"},
        "T2": {"background": "against the label", "co-object": "against the label"},
    }


def test_one_cue_may_be_turned_and_the_other_not():
    card = score_shortcuts(study(LEANS), cues=CUES, correlations={"T1": (0.95, 0.95), "T2": (0.1, 0.5)})
    end = card.methods["erm"].phases["T2"]
    whole = 0.05 * (0.4 + 0.5) + 0.45 * (0.8 + 0.95)
    assert end.own.gaps["background"].mean == pytest.approx(0.4 - whole)  # 11: only the background contradicts
    assert end.own.gaps["co-object"].mean == pytest.approx(0.95 - whole)  # 00: with one half, common is the label's
    assert card.common_values["T2"] == {"background": "against the label", "co-object": "neither"}


def test_the_interval_of_the_difference_is_that_of_paired_seeds():
    rng = np.random.default_rng(3)
    rows, differences = [], []
    for seed in range(4):
        low, high = rng.uniform(0.6, 0.8, 2)
        ends = {"erm": two_cues(0.95, 0.9, low, 0.5), "sd": two_cues(0.95, 0.9, high, 0.5)}
        for method, patterns in ends.items():
            rows += rows_of(method, seed, "T1", groups(patterns))
        differences.append((high - low) * (1 - 0.0475))  # ID moves along with its weight
    found = score_shortcuts(timeline_of(rows), **BOTH).methods["sd"].phases["T1"].own.difference["background"]
    half = student.ppf(0.975, 3) * np.std(differences, ddof=1) / 2
    assert found.mean == pytest.approx(np.mean(differences))
    assert found.ci95 == pytest.approx([np.mean(differences) - half, np.mean(differences) + half])


def test_reliance_on_a_cue_and_the_facets_against_a_fresh_net():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=3) + with_twins("scratch", 0.9, 0.7, 0.8, late=1)
    settings = ShortcutsSettings(window=1)
    card = score_shortcuts(timeline_of(rows), settings, cues=CUES, correlations=SWITCH)
    found = card.methods["erm"].phases["T2"].reliance["background"]
    assert found.delta_swapped.mean == pytest.approx(0.6)
    assert found.delta_covered.mean == pytest.approx(0.3)
    assert found.SFR_rel_swapped.mean == pytest.approx(0.6 - 0.2)
    assert found.SFR_rel_covered.mean == pytest.approx(0.3 - 0.1)
    assert card.methods["erm"].phases["T2"].reliance["co-object"].delta_swapped.mean is None
    facets = card.methods["erm"].phases["T2"].facets
    assert facets.AD.mean == pytest.approx(2.0)
    assert facets.PD.mean == pytest.approx(0.0)
    assert card.methods["erm"].phases["T1"].facets.why["AD"] == "the first phase has no training history"
    assert card.methods["scratch"].verdict.name == "fresh net"
    alone = score_shortcuts(
        timeline_of(with_twins("erm", 0.9, 0.3, 0.6, late=3)), settings, cues=CUES, correlations=SWITCH
    )
    assert alone.methods["erm"].phases["T2"].facets.AD.mean is None


def test_a_threshold_that_is_never_reached_censors_the_delay():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=9) + with_twins("scratch", 0.9, 0.7, 0.8, late=1)
    card = score_shortcuts(timeline_of(rows), cues=CUES, correlations=SWITCH)
    facets = card.methods["erm"].phases["T2"].facets
    assert facets.AD.mean is None
    assert facets.censored == {"1": "erm"}
    assert facets.PD.mean == pytest.approx(0.45)


def test_a_method_that_lacks_a_phase_is_null_there():
    ends = {**moved(), "sd": {"T2": two_cues(0.95, 0.9, 0.9, 0.8)}}
    card = score_shortcuts(study(ends), cues=CUES, correlations=SWITCH)
    assert card.methods["sd"].phases["T1"].own.ID.mean is None
    assert card.methods["sd"].phases["T2"].own.ID.mean is not None
    assert any("sd seed 1 has no rows of T1" in check.detail for check in card.checks)
