"""Accuracy over phase 2, with the delays read off it."""

from __future__ import annotations

from einstellung.diagnoses.rigidity.figures.accuracy import draw_accuracy
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves
from einstellung.report.figures.canvas import drawing
from tests.diagnoses.rigidity.figures.seen import texts_of


def test_figure_three_labels_the_delay(written):
    with drawing():
        figure = draw_accuracy(
            PhaseTwoCurves(written.evidence.timeline.frame, written.card), written.card, {"chance": 0.1}
        )
    words = texts_of(figure)
    mean = written.card.methods["sgd"].AD.mean
    assert f"AD −{abs(mean):.2f}" in words or f"AD −{abs(mean):.1f}" in words
    assert "AD –  method below τ" in words
    assert {"τ = 0.60", "chance 0.100"} <= set(words)
