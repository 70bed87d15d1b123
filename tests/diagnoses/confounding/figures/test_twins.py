"""Twins: which confounder was changed, and how."""

from __future__ import annotations

from einstellung.diagnoses.confounding.figures.twins import draw_twins
from einstellung.report.figures.canvas import drawing

from . import texts_of


def test_the_figure_names_confounders(card):
    with drawing():
        assert {"T1 positives: 'blue' taken away", "T3 negatives: 'large' put in"} <= set(texts_of(draw_twins(card)))
