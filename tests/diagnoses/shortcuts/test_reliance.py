"""What verdicts rest on: twins before gaps, main effects where there are no twins, and the ceiling named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.diagnoses.shortcuts.answer import make_answer
from einstellung.diagnoses.shortcuts.gaps import main_effect
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.diagnoses.shortcuts.tables import make_tables
from einstellung.metrics.proportions import wilson_interval

from .timelines import BOTH, CUES, PAPERLIKE, SWITCH, groups, rows_of, study, timeline_of, two_cues

SEEDS = {1: -0.004, 2: 0.001, 3: 0.003, 4: -0.002, 5: 0.002}


def rows_with(method, patterns, twins, phase="T1", seeds=SEEDS, sign=1):
    """Every seed a little different; ``twins``: cue -> (common, swapped)."""
    rows = []
    for seed, shift in seeds.items():
        moved = {pattern: acc + sign * shift * (pattern != "11") for pattern, acc in patterns.items()}
        splits = groups(moved)
        for cue, (common, swapped) in twins.items():
            splits |= {f"{cue}_common": common, f"{cue}_swapped": swapped + sign * shift}
        rows += rows_of(method, seed, phase, splits)
    return rows


#: erm is right wherever the background is common, so that its co-object gap is 1 point; without the background the same method
#: loses as much by the co-object as erm does, and its gap is 9 points.
CEILING = [
    *rows_with("erm", two_cues(1.0, 0.99, 0.66, 0.48), {"background": (0.99, 0.60), "co-object": (0.84, 0.75)}),
    *rows_with(
        "lff", two_cues(0.96, 0.87, 0.90, 0.80), {"background": (0.93, 0.85), "co-object": (0.93, 0.84)}, sign=-1
    ),
]


def test_a_gap_that_widens_because_of_the_ceiling_is_no_whac_a_mole():
    card = score_shortcuts(timeline_of(CEILING), **BOTH)
    end, verdict = card.end("lff"), card.methods["lff"].verdict
    gap = end.own.difference["co-object"]
    assert gap.mean < -0.05
    assert gap.ci95[1] < 0
    assert gap.p < 0.001  # by gaps, widened for certain
    assert end.alone.difference["co-object"].ci95[1] < 0
    judged = end.judged["co-object"]
    assert judged.by == "twins"
    assert judged.difference.mean == pytest.approx(0, abs=1e-9)
    assert verdict.cues["background"].name == "reduced"
    assert verdict.cues["co-object"].name != "amplified"
    assert verdict.name == "reduces some"
    assert verdict.sentence.startswith("Reduces some by twins: ")
    assert "Gaps (not part of the verdict): " in verdict.sentence
    assert make_answer(card)[0].startswith("No Whac-A-Mole by twins")
    notes = {name: make_tables(card)[name].note for name in ("table3", "verdicts", "gap_differences")}
    assert "by twins." in notes["verdicts"]
    assert "Gaps do not enter the verdict" in notes["gap_differences"]


def test_groups_alone_are_judged_by_main_effects_and_the_ceiling_is_named():
    rows = [row for row in CEILING if not row[4].startswith(CUES)]
    card = score_shortcuts(timeline_of(rows), **BOTH)
    why = "no twins of co-object (co-object_common, co-object_swapped) were measured"
    assert (card.basis["co-object"].by, card.basis["co-object"].why) == ("main effects", why)
    judged = card.end("erm").judged["co-object"]
    assert judged.loss.mean == pytest.approx(((1.0 - 0.99) + (0.66 - 0.48)) / 2)
    # 100 images a pattern: all right on 100 leaves 96.3 % possible
    assert judged.ceiling == pytest.approx({"11": 1.0, "10": 0.99})
    assert wilson_interval(1.0, 100)[0] == pytest.approx(0.963, abs=1e-3)
    assert card.end("lff").judged["co-object"].ceiling == {}
    sentence = card.methods["lff"].verdict.sentence
    assert "by main effects over all patterns (no twins of background" in sentence
    assert "Bounded by the ceiling (accuracy indistinguishable from 1): erm A11 1.00, erm A10 0.99." in sentence
    words = " ".join(make_answer(card))
    assert (
        "Not by twins (background: no twins of background (background_common, background_swapped) were measured"
        in words
    )
    assert "of erm: A11 1.00, A10 0.99" in make_tables(card)["verdicts"].note


def test_without_the_number_of_images_only_an_accuracy_of_one_is_at_the_ceiling():
    rows = [(*row[:-1], None) for row in CEILING if not row[4].startswith(CUES)]
    assert score_shortcuts(timeline_of(rows), **BOTH).end("erm").judged["background"].ceiling == {"11": 1.0}


def test_twins_that_one_run_lacks_are_not_used_and_it_is_named():
    rows = [row for row in CEILING if not (row[:2] == ("lff", 2) and row[4] == "co-object_swapped")]
    card = score_shortcuts(timeline_of(rows), **BOTH)
    assert card.basis["background"].by == "twins"
    assert card.basis["co-object"].by == "main effects"
    assert card.basis["co-object"].why == "twins are missing: co-object in lff seed 2 after T1"
    assert card.methods["lff"].verdict.cues["co-object"].by == "main effects"
    assert "twins for background, main effects over all patterns for co-object" in card.methods["lff"].verdict.sentence


def test_a_reliance_that_no_measure_tells_is_undecided_with_the_reason():
    """A log without twins that lacks a group of one method."""
    rows = [row for row in CEILING if not row[4].startswith(CUES) and (row[0], row[4]) != ("lff", "group_1_00")]
    verdict = score_shortcuts(timeline_of(rows), **BOTH).methods["lff"].verdict
    assert verdict.sentence == "Undecided: ID accuracy is undefined, because a group was not measured."
    assert verdict.cues["background"].why == "a group was not measured"


def carried(**twins):
    """T1 ties the background to the label, T2 does not. ``twins``: method -> (common, swapped) of the background after T2."""
    rows = []
    for place, (method, after) in enumerate(twins.items()):
        sign = (-1) ** place
        # the same groups for all: on images with a common co-object, nobody loses by the background
        rows += rows_with(method, two_cues(0.97, 0.95, 0.6, 0.55), {"background": (0.95, 0.55)}, sign=sign)
        rows += rows_with(method, two_cues(0.99, 0.8, 0.985, 0.78), {"background": after}, "T2", sign=sign)
    return score_shortcuts(timeline_of(rows), cues=CUES, correlations=SWITCH)


def test_twins_show_a_carry_over_that_gaps_do_not():
    card = carried(erm=(0.90, 0.89), scratch=(0.90, 0.89), er=(0.90, 0.82))
    entries = {method: record.carry_over[0] for method, record in card.methods.items()}
    assert entries["er"].common.gap.mean > -0.01  # the gap has nothing to show
    assert entries["er"].judged.by == "twins"
    assert entries["er"].judged.minus_fresh.mean == pytest.approx(0.07)
    assert entries["er"].judged.p_holm <= 0.05
    assert {method: entry.certain for method, entry in entries.items()} == {"erm": False, "scratch": False, "er": True}
    assert entries["erm"].why == "the remaining reliance is not conclusively above 0 and the margin"
    (row,) = [row for row in make_tables(card)["carry_over"].values if row["method"] == "er" and row["carried_over"]]
    assert row["measure"] == "twins"
    without = [row for row in make_tables(card)["carry_over"].values if row["measure"].startswith("gap")]
    assert {row["carried_over"] for row in without} == {None}


def test_trades_go_by_twins_too():
    ends = {"erm": {"T1": two_cues(0.98, 0.9, 0.8, 0.6)}, "sd": {"T1": two_cues(0.98, 0.8, 0.9, 0.6)}}
    with_twins, without = (
        score_shortcuts(study(ends, spread=0.004, twins=twins), **BOTH).methods["sd"].trade.against_baseline[0]
        for twins in (True, False)
    )
    pair = "background -> co-object"
    assert (with_twins.judged[pair].by, without.judged[pair].by) == ("twins", "main effects")
    assert with_twins.judged[pair].mean == pytest.approx(without.judged[pair].mean)
    assert with_twins.judged[pair].certain is True
    assert with_twins.judged[pair].p_holm is not None


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.integers(0, 2))
def test_the_main_effect_is_the_mean_with_the_cue_minus_that_without(values, place):
    accuracies = dict(zip(patterns_of(3), values, strict=True))
    sides = {side: [acc for pattern, acc in accuracies.items() if pattern[place] == side] for side in "10"}
    assert main_effect(accuracies, place) == pytest.approx(sum(sides["1"]) / 4 - sum(sides["0"]) / 4)
    assert main_effect({**accuracies, "000": None}, place) is None


def test_a_study_without_twins_names_them_on_every_verdict():
    card = score_shortcuts(study(PAPERLIKE, spread=0.004), **BOTH)
    assert {judged.by for judged in card.methods["cutmix"].verdict.cues.values()} == {"main effects"}
    assert "no twins of background" in make_tables(card)["table3"].note
