"""Phases in which a cue goes against the label: what is common there, and every measure that goes by it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.diagnoses.shortcuts.gaps import (
    in_terms_of_labels,
    pattern_weights,
    shortcut_gaps,
    turned_cues,
)
from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.splits import patterns_of

from .several import PAPERLIKE, study, two_cues

CUES = ("background", "co-object")
TURNED = {"T1": (0.95, 0.95), "T2": (0.05, 0.05)}
LEANS = {"erm": {"T1": two_cues(0.95, 0.8, 0.5, 0.4), "T2": two_cues(0.4, 0.5, 0.8, 0.95)}}


def mirrored(patterns: dict[str, float]) -> dict[str, float]:
    """The same model in a world in which both cues have changed sides."""
    return {in_terms_of_labels(pattern, (True, True)): acc for pattern, acc in patterns.items()}


def test_a_turned_phase_is_judged_by_what_is_common_in_its_own_training():
    card = shortcut_score(study(LEANS), cues=CUES, correlations=TURNED)
    end = card["methods"]["erm"]["phases"]["T2"]
    whole = 0.9025 * 0.95 + 0.0475 * (0.5 + 0.8) + 0.0025 * 0.4  # 00 is the commonest pattern of T2
    assert end["own"]["ID"]["mean"] == pytest.approx(whole)
    # where the background contradicts the training of T2 it goes with the label, and the co-object against it: pattern 10
    assert end["own"]["gaps"]["background"]["mean"] == pytest.approx(0.5 - whole)
    assert end["own"]["gaps"]["co-object"]["mean"] == pytest.approx(0.8 - whole)
    assert end["own"]["gaps"]["background+co-object"]["mean"] == pytest.approx(0.4 - whole)
    assert end["alone"]["gaps"]["background"]["mean"] == pytest.approx(0.5 - 0.95)
    # by the first phase's weights and by the label, nothing is turned
    assert end["fixed"]["gaps"]["background"]["mean"] == pytest.approx(
        0.8 - (0.9025 * 0.4 + 0.0475 * (0.8 + 0.5) + 0.0025 * 0.95)
    )
    assert end["common"]["gaps"]["background"]["mean"] == pytest.approx(0.8 - 0.4)
    assert card["common_values"] == {
        "T1": {"background": "with the label", "co-object": "with the label"},
        "T2": {"background": "against the label", "co-object": "against the label"},
    }


def test_one_cue_may_be_turned_and_the_other_not():
    card = shortcut_score(study(LEANS), cues=CUES, correlations={"T1": (0.95, 0.95), "T2": (0.1, 0.5)})
    end = card["methods"]["erm"]["phases"]["T2"]
    whole = 0.05 * (0.4 + 0.5) + 0.45 * (0.8 + 0.95)
    assert end["own"]["gaps"]["background"]["mean"] == pytest.approx(0.4 - whole)  # 11: only the background contradicts
    assert end["own"]["gaps"]["co-object"]["mean"] == pytest.approx(
        0.95 - whole
    )  # 00: with one half, common is the label's
    assert card["common_values"]["T2"] == {"background": "against the label", "co-object": "neither"}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1).filter(lambda rho: abs(rho - 0.5) > 1e-6), min_size=1, max_size=3), st.data())
def test_a_world_with_a_cue_on_the_other_side_has_the_same_gaps(correlations, data):
    cues = [f"c{k}" for k in range(len(correlations))]
    sides = tuple(data.draw(st.booleans()) for _ in cues)
    accuracies = {pattern: data.draw(st.floats(0, 1)) for pattern in patterns_of(len(cues))}
    other = [1 - rho if side else rho for rho, side in zip(correlations, sides, strict=True)]
    swapped = {in_terms_of_labels(pattern, sides): acc for pattern, acc in accuracies.items()}
    gaps = []
    for rho, found in ((correlations, accuracies), (other, swapped)):
        weights = pattern_weights(rho)
        gaps.append(shortcut_gaps(found, cues, weights, turned_cues(weights)))
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


def test_verdicts_and_trades_do_not_depend_on_which_side_is_common():
    plain = shortcut_score(study(PAPERLIKE), cues=CUES, correlations=(0.95, 0.95))
    ends = {method: {"T1": mirrored(phases["T1"])} for method, phases in PAPERLIKE.items()}
    other = shortcut_score(study(ends), cues=CUES, correlations=(0.05, 0.05))
    for method in PAPERLIKE:
        assert other["methods"][method]["verdict"] == plain["methods"][method]["verdict"]
    assert other["methods"]["cutmix"]["verdict"]["gaps"]["background"]["name"] == "amplified (Whac-A-Mole)"
    (beside,) = other["methods"]["cutmix"]["trade"]["against_baseline"]
    assert beside["alone"]["co-object -> background"]["mean"] == pytest.approx(0.08)  # -.13 to -.05, while -.18 to -.48
    assert beside["alone"]["co-object -> background"]["certain"] is True
    assert beside["common"]["co-object -> background"]["mean"] < 0  # by the label alone, the sides are mistaken


def test_carry_over_of_a_turned_correlation_is_a_loss_too():
    ends = {"erm": {"T1": two_cues(0.55, 0.55, 0.95, 0.95), "T2": two_cues(0.8, 0.5, 0.95, 0.65)}}
    correlations = {"T1": (0.05, 0.5), "T2": (0.5, 0.95)}
    (entry,) = shortcut_score(study(ends), cues=CUES, correlations=correlations)["methods"]["erm"]["carry_over"]
    assert entry["common"]["gap_before"]["mean"] == pytest.approx(0.55 - 0.95)
    assert entry["common"]["gap"]["mean"] == pytest.approx(0.8 - 0.95)
    assert entry["common"]["share"]["value"] == pytest.approx(0.15 / 0.4)
    assert entry["own"]["gap"]["mean"] == pytest.approx(0.8 - (0.475 * (0.8 + 0.95) + 0.025 * (0.5 + 0.65)))
    assert entry["certain"] is True
