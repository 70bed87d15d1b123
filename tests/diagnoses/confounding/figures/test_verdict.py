"""Unconfounded accuracy with the verdicts."""

from __future__ import annotations

from einstellung.diagnoses.confounding.figures.verdict import draw_unconfounded
from einstellung.report.figures.canvas import drawing, render

from . import texts_of


def test_the_figure_names_verdicts(card):
    with drawing():
        assert {"insidiously confounded", "not confounded", "chance"} <= set(texts_of(draw_unconfounded(card)))


def test_equal_input_gives_equal_bytes(card):
    with drawing():
        assert render(draw_unconfounded(card), "svg") == render(draw_unconfounded(card), "svg")
