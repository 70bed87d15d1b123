"""The facets at a glance."""

from __future__ import annotations

from einstellung.diagnoses.rigidity.figures.verdict import draw_verdict
from einstellung.diagnoses.rigidity.score import score
from einstellung.report.figures.canvas import drawing, render
from einstellung.report.notation import write
from einstellung.timeline import Timeline
from tests.diagnoses.rigidity.hand_made import timeline_frame, typed


def test_equal_input_gives_equal_bytes(card):
    def once():
        with drawing():
            figure = draw_verdict(typed(card))
            return [render(figure, kind) for kind in ("svg", "png", "pdf")]

    assert once() == once()


def test_the_verdict_shows_delta_on_the_seeds_of_the_baseline():
    frame = timeline_frame()
    card = score(Timeline(frame[(frame["method"] != "scratch_t2") | (frame["seed"] != 44)]))
    sgd = card.methods["sgd"]
    assert (sgd.delta.n, sgd.delta_paired.n) == (3, 2)
    texts = [text.get_text() for text in draw_verdict(card).axes[-1].texts]
    assert f"{write('delta', sgd.delta_paired.mean)}  n 2" in texts


def test_intervals_are_shown_whole(card):
    """However wide: the line ends at both ends of the interval, inside the frame, and no arrow says that it goes on."""
    card["methods"]["ewc_on"]["SFR_rel"]["ci95"] = [-0.9, 1.3]
    figure = draw_verdict(typed(card))
    axes = next(axes for axes in figure.axes if any(tuple(line.get_xdata()) == (-0.9, 1.3) for line in axes.lines))
    low, high = axes.get_xlim()
    assert low < -0.9
    assert high > 1.3
    markers = {line.get_marker() for axes in figure.axes for line in axes.lines}
    assert not markers & {"<", ">"}
