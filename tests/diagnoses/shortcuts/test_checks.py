"""Checks of a log of several shortcuts: groups that are unequal, twins that are copies or have no originals."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.score import score_shortcuts

from .timelines import BOTH, CUES, groups, rows_of, timeline_of, two_cues, with_twins


def test_unequal_groups_fail_a_check():
    rows = rows_of("erm", 1, "T1", groups(two_cues(0.9, 0.8, 0.7, 0.4)))
    rows = [(*row[:-1], 49 if row[4] == "group_0_11" else 50) for row in rows]
    card = score_shortcuts(timeline_of(rows), **BOTH)
    (check,) = [check for check in card.checks if check.name == "all test groups have the same number of images"]
    assert check.passed is False
    assert "group_0_11: 49" in check.detail
    assert card.images.group is None


def test_twins_that_are_copies_and_twins_without_originals_fail_their_checks():
    rows = with_twins("erm", 0.9, 0.3, 0.6, late=1)
    same = {row[:4]: row[5:] for row in rows if row[4] == "background_common"}
    copied = [(*row[:5], *same[row[:4]]) if row[4] == "background_covered" else row for row in rows]
    checks = {check.name: check for check in score_shortcuts(timeline_of(copied)).checks}
    assert checks["twins differ from their originals"].passed is None  # two cues, one of them named
    named = {check.name: check for check in score_shortcuts(timeline_of(copied), cues=CUES).checks}
    assert named["twins differ from their originals"].passed is False
    orphans = [row for row in rows if row[4] != "background_common"]
    lone = {check.name: check for check in score_shortcuts(timeline_of(orphans), cues=CUES).checks}
    assert lone["twins and originals are evaluated alike"].passed is False
