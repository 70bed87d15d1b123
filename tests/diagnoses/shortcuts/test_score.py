"""The card of several shortcuts: what is null, what is warned of, what is refused."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.shortcuts.gaps import checked_weights
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.errors import InputError

from .timelines import BOTH, PAPERLIKE, rows_of, study, timeline_of


def test_without_correlations_id_is_null_and_a_warning_names_the_option():
    card = score_shortcuts(study(PAPERLIKE))
    assert card.end("erm").own.ID.mean is None
    assert card.end("erm").own.gaps["cue 1"].mean is None
    assert card.end("erm").common.gaps["cue 1"].mean == pytest.approx(-0.18)
    assert any("--correlations" in warning for warning in card.warnings)
    assert card.methods["cutmix"].verdict.name == "undecided"
    assert json.loads(json.dumps(card.to_json(), allow_nan=False)) == card.to_json()


def test_a_group_that_was_not_measured_makes_what_needs_it_null_and_fails_a_check():
    timeline = study(PAPERLIKE)
    frame = timeline.frame
    gone = (frame["method"] == "cutmix") & (frame["split"] == "group_1_00")
    card = score_shortcuts(type(timeline)(frame[~gone]), **BOTH)
    end = card.methods["cutmix"].phases["T1"]
    assert end.patterns["00"].mean is None
    assert end.own.ID.mean is None
    assert end.worst_group.mean is None
    assert end.worst_group_name is None
    assert end.preference["label"].mean is None
    assert end.patterns["11"].mean == pytest.approx(1.0)
    failed = [check for check in card.checks if check.passed is False]
    assert any("cutmix seed 1 after T1: group_1_00" in check.detail for check in failed)
    assert card.end("erm").own.ID.mean is not None


def test_bad_input_is_refused_in_one_line():
    timeline = study(PAPERLIKE)
    for message, inputs in (
        ("3 correlations of T1 for 2 cues", {"correlations": (0.9, 0.9, 0.9)}),
        ("correlation 1.2", {"correlations": (0.9, 1.2)}),
        ("one name for each", {"cues": ("background",)}),
        ("one name for each", {"cues": ("background", "background")}),
        ("weights sum to 0.8", {"weights": dict.fromkeys(patterns_of(2), 0.2)}),
        ("one for each of 11, 10, 01, 00", {"weights": {"11": 1.0}}),
    ):
        with pytest.raises(InputError, match=message):
            score_shortcuts(timeline, **inputs)
    with pytest.raises(InputError, match="no baseline 'ermm'"):
        score_shortcuts(timeline, ShortcutsSettings(baseline="ermm"))
    mixed = rows_of("erm", 1, "T1", {"group_0_11": 0.9, "group_0_1": 0.8})
    with pytest.raises(InputError, match="patterns of 1 and 2 digits"):
        score_shortcuts(timeline_of(mixed))
    with pytest.raises(InputError, match="no groups with several shortcuts"):
        score_shortcuts(timeline_of(rows_of("erm", 1, "T1", {"T1_val": 0.9})))
    assert sum(checked_weights({"1": 0.25, "0": 0.75}, 1).values()) == 1


def test_seeds_that_the_baseline_lacks_are_left_out_and_named():
    rows = list(study(PAPERLIKE, spread=0.01).frame.itertuples(index=False, name=None))
    kept = [row for row in rows if not (row[0] == "erm" and row[1] == 3)]
    card = score_shortcuts(timeline_of(kept), **BOTH)
    assert card.methods["lle"].phases["T1"].own.difference["background"].n == 2
    assert card.methods["lle"].phases["T1"].own.gaps["background"].n == 3
    assert any("seed 3 of lle" in warning for warning in card.warnings)
    assert any(check.passed is False and "seeds are paired" in check.name for check in card.checks)
