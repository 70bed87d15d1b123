"""What a verdict on several shortcuts takes: a margin, an interval, a test corrected over methods; and who is judged."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.diagnoses.shortcuts.estimates import RelianceDifference
from einstellung.diagnoses.shortcuts.gaps import in_terms_of_labels
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.verdict import judge_cue, judge_method
from einstellung.metrics.statistics import holm

from .timelines import BOTH, CUES, PAPERLIKE, groups, rows_of, study, timeline_of, twins_like, two_cues


def estimate(mean, half, n=3):
    return RelianceDifference(mean, None, n, None if half is None else (mean - half, mean + half), "t")


def test_verdicts_of_a_study_like_the_papers():
    card = score_shortcuts(study(PAPERLIKE, spread=0.004), **BOTH)
    verdicts = {method: record.verdict for method, record in card.methods.items()}
    assert verdicts["erm"].name == "baseline"
    assert verdicts["cutmix"].name == "whac-a-mole"
    assert verdicts["cutmix"].cues["background"].name == "amplified (Whac-A-Mole)"
    assert verdicts["cutmix"].cues["co-object"].name == "reduced"
    # lle: background (1 + 5) / 2 points, co-object (2 + 6) / 2: above the margin of 2
    assert {cue: judged.name for cue, judged in verdicts["lle"].cues.items()} == dict.fromkeys(CUES, "reduced")
    assert verdicts["lle"].name == "reduces all"
    assert "95 %" in verdicts["cutmix"].sentence
    cured = {**PAPERLIKE, "lle": {"T1": two_cues(0.97, 0.965, 0.965, 0.96)}}
    assert score_shortcuts(study(cured, spread=0.004), **BOTH).methods["lle"].verdict.name == "cures all"


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_fewer_than_three_seeds_are_never_certain(seeds):
    card = score_shortcuts(study(PAPERLIKE, seeds=seeds, spread=0.00001), **BOTH)
    verdict = card.methods["cutmix"].verdict
    assert verdict.name == "undecided"
    counted = "1 seed" if len(seeds) == 1 else "2 seeds"
    assert f"{counted}, at least 3 needed" in verdict.cues["background"].why
    assert f"{counted}, at least 3 needed" in verdict.sentence


def test_seeds_that_all_differ_by_the_same_leave_no_test():
    verdict = score_shortcuts(study(PAPERLIKE), **BOTH).methods["cutmix"].verdict
    assert verdict.name == "undecided"
    assert verdict.cues["background"].why == "amplified by the interval, but no test: no variation between seeds"


def test_who_did_not_learn_the_task_is_not_called_cured():
    ends = {**PAPERLIKE, "lle": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    verdict = score_shortcuts(study(ends, spread=0.004), **BOTH).methods["lle"].verdict
    assert verdict.name == "not learned"
    assert verdict.cues["background"].name == "undecided"
    chance = {**PAPERLIKE, "erm": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    assert score_shortcuts(study(chance), **BOTH).methods["lle"].verdict.name == "undecided"


@pytest.mark.parametrize(
    ("difference", "loss", "base", "word"),
    [
        ((0.05, 0.04), (0.2, 0.04), (0.15, 0.02), "amplified"),
        ((0.05, 0.06), (0.2, 0.04), (0.15, 0.02), "undecided"),
        ((0.015, 0.01), (0.165, 0.04), (0.15, 0.02), "undecided"),
        ((0.005, 0.01), (0.155, 0.04), (0.15, 0.02), "unchanged"),
        ((-0.05, 0.04), (0.1, 0.04), (0.15, 0.02), "reduced"),
        ((-0.14, 0.04), (0.01, 0.005), (0.15, 0.02), "cured"),
        ((-0.14, 0.04), (0.01, 0.02), (0.15, 0.02), "reduced"),
        ((-0.30, 0.04), (-0.15, 0.02), (0.15, 0.02), "reduced"),  # turned round is not cured
        ((-0.14, None), (0.01, None), (0.15, None), "undecided"),
        ((-0.05, 0.01), (-0.04, 0.01), (0.01, 0.01), "unchanged"),  # nothing to reduce
        ((0.05, 0.01), (0.01, 0.005), (-0.04, 0.01), "undecided"),  # it relies on nothing
        ((0.05, 0.01), (0.03, 0.005), (-0.02, 0.01), "amplified"),
    ],
)
def test_the_word_for_a_cue(difference, loss, base, word):
    inputs = (estimate(*difference), estimate(*loss), estimate(*base), 0.02)
    assert judge_cue(*inputs, p_holm=0.05, p_unchanged=0.05)[0] == word
    assert judge_cue(*inputs, p_holm=0.051, p_unchanged=0.051)[0] == "undecided"
    assert judge_cue(estimate(*difference, n=2), *inputs[1:], p_holm=0.01, p_unchanged=0.01)[0] == "undecided"


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


def noisy(ends, seeds=(1, 2, 3)):
    rng = np.random.default_rng(11)
    rows = []
    for method, phases in ends.items():
        for seed in seeds:
            moved = {pattern: float(np.clip(acc + rng.normal(0, 0.01), 0, 1)) for pattern, acc in phases["T1"].items()}
            rows += rows_of(method, seed, "T1", groups(moved))
    return timeline_of(rows)


def test_holms_family_is_of_the_judged_methods_of_one_cue():
    ends = {**PAPERLIKE, "scratch": PAPERLIKE["erm"], "jtt": {"T1": two_cues(0.5, 0.5, 0.5, 0.5)}}
    card = score_shortcuts(noisy(ends), **BOTH)
    assert card.methods["jtt"].verdict.name == "not learned"
    for cue in CUES:
        plain = [card.methods[method].phases["T1"].judged[cue].difference.p for method in ("cutmix", "lle")]
        for method, p in zip(("cutmix", "lle"), holm(plain), strict=True):
            assert card.methods[method].verdict.cues[cue].p_holm == pytest.approx(p)


def test_more_methods_take_a_verdict_away():
    """The same numbers: certain as the only comparison, and not as one of ten."""
    erm, sd = two_cues(0.98, 0.9, 0.75, 0.6), two_cues(0.98, 0.91, 0.81, 0.66)
    others = {f"m{number}": {"T1": erm} for number in range(9)}
    alone, among = (
        score_shortcuts(study({"erm": {"T1": erm}, "sd": {"T1": sd}, **more}, spread=0.016), **BOTH).methods["sd"]
        for more in ({}, others)
    )
    judged = [record.phases["T1"].judged["background"].difference for record in (alone, among)]
    assert judged[0] == judged[1]
    assert judged[0].ci95[1] < 0
    assert judged[0].p < 0.05
    assert alone.verdict.cues["background"].name == "reduced"
    assert among.verdict.cues["background"].name == "undecided"
    assert "after Holm" in among.verdict.cues["background"].why


def mirrored(patterns: dict[str, float]) -> dict[str, float]:
    """The same model in a world in which both cues have changed sides."""
    return {in_terms_of_labels(pattern, (True, True)): acc for pattern, acc in patterns.items()}


@pytest.mark.parametrize("twins", [False, True])
def test_verdicts_and_trades_do_not_depend_on_which_side_is_common(twins):
    def rows(sense):
        jitter = {1: -0.004, 2: 0.0, 3: 0.004}
        return [
            row
            for number, (method, phases) in enumerate(PAPERLIKE.items())
            for seed, shift in jitter.items()
            for row in rows_of(
                method,
                seed,
                "T1",
                splits_of(sense({p: a + (-1) ** number * shift * (p != "11") for p, a in phases["T1"].items()}), twins),
            )
        ]

    plain = score_shortcuts(timeline_of(rows(dict)), cues=CUES, correlations=(0.95, 0.95))
    other = score_shortcuts(timeline_of(rows(mirrored)), cues=CUES, correlations=(0.05, 0.05))
    assert plain.basis["background"].by == ("twins" if twins else "main effects")
    for method in PAPERLIKE:
        ours, theirs = other.methods[method].verdict, plain.methods[method].verdict
        assert (ours.name, {cue: one.name for cue, one in ours.cues.items()}) == (
            theirs.name,
            {cue: one.name for cue, one in theirs.cues.items()},
        )
    assert other.methods["cutmix"].verdict.cues["background"].name == "amplified (Whac-A-Mole)"
    (against_erm,) = other.methods["cutmix"].trade.against_baseline
    assert against_erm.alone["co-object -> background"].mean == pytest.approx(0.08)  # -.13 to -.05, while -.18 to -.48
    assert against_erm.judged["co-object -> background"].mean == pytest.approx(0.10)  # 33.5 to 23.5, while 38.5 to 66.5
    assert against_erm.judged["co-object -> background"].certain is True
    assert against_erm.common["co-object -> background"].mean < 0  # by the label alone, the sides are mistaken


def splits_of(patterns, twins):
    return groups(patterns) | (twins_like(patterns) if twins else {})
