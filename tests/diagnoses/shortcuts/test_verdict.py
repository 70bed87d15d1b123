"""What a verdict on several shortcuts takes: both ways of measuring a gap, a margin, an interval; and who is among the judged."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.shortcuts.estimates import GapEstimate
from einstellung.diagnoses.shortcuts.gaps import in_terms_of_labels
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.verdict import agreed, judge_gap, judge_method
from einstellung.metrics.statistics import holm

from .timelines import BOTH, CUES, EVEN, HALF, LEANING, PAPERLIKE, groups, rows_of, study, timeline_of, two_cues


def estimate(mean, half):
    return GapEstimate(mean, None, 3, None if half is None else (mean - half, mean + half), "t")


def test_verdicts_of_a_study_like_the_papers():
    card = score_shortcuts(study(PAPERLIKE, spread=0.004), **BOTH)
    verdicts = {method: record.verdict for method, record in card.methods.items()}
    assert verdicts["erm"].name == "baseline"
    assert verdicts["cutmix"].name == "whac-a-mole"
    assert verdicts["cutmix"].gaps["background"].name == "amplified (Whac-A-Mole)"
    assert verdicts["cutmix"].gaps["co-object"].name == "reduced"
    # lle: background gap -.7 points, within 2 of 0 with its interval; co-object gap -1.7, whose interval reaches -2.6
    assert verdicts["lle"].gaps["background"].name == "cured"
    assert verdicts["lle"].gaps["co-object"].name == "reduced"
    assert verdicts["lle"].name == "reduces all"
    assert "95 %" in verdicts["cutmix"].sentence
    single = score_shortcuts(study(PAPERLIKE, seeds=(1,)), **BOTH)
    assert single.methods["cutmix"].verdict.name == "undecided"
    assert "one seed" in single.methods["cutmix"].verdict.sentence


def test_who_did_not_learn_the_task_is_not_called_cured():
    ends = {**PAPERLIKE, "lle": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    verdict = score_shortcuts(study(ends, spread=0.004), **BOTH).methods["lle"].verdict
    assert verdict.name == "not learned"
    assert verdict.gaps["background"].name == "undecided"
    chance = {**PAPERLIKE, "erm": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    assert score_shortcuts(study(chance), **BOTH).methods["lle"].verdict.name == "undecided"


@pytest.mark.parametrize(
    ("difference", "gap", "base", "word"),
    [
        ((-0.05, 0.04), (-0.2, 0.04), (-0.15, 0.02), "amplified"),
        ((-0.05, 0.06), (-0.2, 0.04), (-0.15, 0.02), "undecided"),
        ((-0.015, 0.01), (-0.165, 0.04), (-0.15, 0.02), "undecided"),
        ((-0.005, 0.01), (-0.155, 0.04), (-0.15, 0.02), "unchanged"),
        ((0.05, 0.04), (-0.1, 0.04), (-0.15, 0.02), "reduced"),
        ((0.14, 0.04), (-0.01, 0.005), (-0.15, 0.02), "cured"),
        ((0.14, 0.04), (-0.01, 0.02), (-0.15, 0.02), "reduced"),
        ((0.14, None), (-0.01, None), (-0.15, None), "undecided"),
        ((0.05, 0.01), (0.04, 0.01), (-0.01, 0.01), "unchanged"),  # nothing to cure
        ((-0.05, 0.01), (-0.06, 0.01), (-0.01, 0.01), "amplified"),
    ],
)
def test_the_word_for_a_gap(difference, gap, base, word):
    assert judge_gap(estimate(*difference), estimate(*gap), estimate(*base), 0.02) == word


def test_the_word_for_a_method():
    up, down, same, open_ = "amplified (Whac-A-Mole)", "reduced", "unchanged", "undecided"
    for words, verdict in {
        (up, down): "whac-a-mole",
        (up, open_): "amplifies",
        (down, "cured"): "reduces all",
        ("cured", "cured"): "cures all",
        (down, same): "reduces some",
        (same, same): "unchanged",
        (same, open_): "undecided",
    }.items():
        assert judge_method(dict(zip(CUES, words, strict=True))) == verdict


def test_a_gap_that_only_id_accuracy_moved_is_not_reduced():
    card = score_shortcuts(study({"erm": {"T1": EVEN}, "sd": {"T1": LEANING}}), **HALF)
    end = card.methods["sd"].phases["T1"]
    assert end.own.difference["co-object"].mean == pytest.approx(0.94 - 0.79)  # ID of erm minus that of sd
    assert end.alone.difference["co-object"].mean == pytest.approx(0)
    verdict = card.methods["sd"].verdict
    found = verdict.gaps["co-object"]
    assert (found.name, found.from_id, found.alone) == ("undecided", "reduced", "unchanged")
    assert "undecided (reduced from ID, unchanged from where all cues are common)" in verdict.sentence
    assert verdict.gaps["background"].name == "amplified"  # and no Whac-A-Mole, since nothing was hit
    assert verdict.name == "amplifies"


def test_a_gap_that_only_id_accuracy_moved_is_not_amplified_either():
    card = score_shortcuts(study({"erm": {"T1": LEANING}, "sd": {"T1": EVEN}}), **HALF)
    verdict = card.methods["sd"].verdict
    assert verdict.gaps["co-object"].from_id == "amplified"
    assert verdict.gaps["co-object"].name == "undecided"
    assert verdict.name == "reduces some"


def test_both_ways_of_measuring_must_agree():
    assert agreed("cured", "cured") == "cured"
    assert agreed("reduced", "cured") == "reduced"
    assert agreed("amplified", "unchanged") == agreed("amplified", "reduced") == "undecided"


def test_who_has_no_gap_amplifies_none():
    inputs = [estimate(-0.05, 0.01), estimate(-0.01, 0.005), estimate(0.04, 0.01)]
    assert judge_gap(*inputs, 0.02) == "undecided"
    assert judge_gap(inputs[0], estimate(-0.03, 0.005), estimate(0.02, 0.01), 0.02) == "amplified"


def test_holms_family_is_of_the_judged_alone():
    rng = np.random.default_rng(11)
    ends = {**PAPERLIKE, "scratch": PAPERLIKE["erm"], "jtt": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    rows = []
    for method, phases in ends.items():
        for seed in (1, 2, 3):
            noisy = {pattern: float(np.clip(acc + rng.normal(0, 0.01), 0, 1)) for pattern, acc in phases["T1"].items()}
            rows += rows_of(method, seed, "T1", groups(noisy))
    card = score_shortcuts(timeline_of(rows), **BOTH)
    assert card.methods["jtt"].verdict.name == "not learned"
    keys = [(method, cue) for method in ("cutmix", "lle") for cue in CUES]
    plain = [card.methods[method].phases["T1"].own.difference[cue].p for method, cue in keys]
    expected = dict(zip(keys, holm(plain), strict=True))
    for (method, cue), p in expected.items():
        assert card.methods[method].verdict.gaps[cue].p_holm == pytest.approx(p)


def mirrored(patterns: dict[str, float]) -> dict[str, float]:
    """The same model in a world in which both cues have changed sides."""
    return {in_terms_of_labels(pattern, (True, True)): acc for pattern, acc in patterns.items()}


def test_verdicts_and_trades_do_not_depend_on_which_side_is_common():
    plain = score_shortcuts(study(PAPERLIKE), cues=CUES, correlations=(0.95, 0.95))
    ends = {method: {"T1": mirrored(phases["T1"])} for method, phases in PAPERLIKE.items()}
    other = score_shortcuts(study(ends), cues=CUES, correlations=(0.05, 0.05))
    for method in PAPERLIKE:
        assert other.methods[method].verdict == plain.methods[method].verdict
    assert other.methods["cutmix"].verdict.gaps["background"].name == "amplified (Whac-A-Mole)"
    (against_erm,) = other.methods["cutmix"].trade.against_baseline
    assert against_erm.alone["co-object -> background"].mean == pytest.approx(0.08)  # -.13 to -.05, while -.18 to -.48
    assert against_erm.alone["co-object -> background"].certain is True
    assert against_erm.common["co-object -> background"].mean < 0  # by the label alone, the sides are mistaken
