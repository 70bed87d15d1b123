"""Rows of gaps: a panel for every set of cues."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.figures.plane import draw_plane
from einstellung.diagnoses.shortcuts.figures.rows import draw_gap_rows
from einstellung.diagnoses.shortcuts.score import score_shortcuts
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.report.figures.canvas import drawing
from tests.diagnoses.shortcuts.timelines import study


def test_rows_hold_every_gap_of_three_cues():
    patterns = {pattern: 0.9 - 0.1 * pattern.count("0") for pattern in patterns_of(3)}
    card = score_shortcuts(study({"erm": {"T1": patterns}}), cues=("a", "b", "c"), correlations=(0.9, 0.9, 0.9))
    with drawing():
        figure = draw_gap_rows(card)
        plane = draw_plane(card)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert titles == ["a gap", "b gap", "c gap", "a+b gap", "a+c gap", "b+c gap", "a+b+c gap"]
    assert len(plane.axes) == 3
