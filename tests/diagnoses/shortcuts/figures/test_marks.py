"""Marks of verdicts."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.figures.marks import GAP_MARKS, METHOD_MARKS


def test_marks_differ_without_colour():
    for marks in (METHOD_MARKS, {name: mark for name, mark in GAP_MARKS.items() if name != "cured"}):
        shapes = [(mark.marker, mark.filled) for mark in marks.values()]
        assert len(set(shapes)) >= len(shapes) - 1  # the two stars, baseline and fresh net, are never judged
