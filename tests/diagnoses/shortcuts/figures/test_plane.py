"""The gap plot: every method by name, corners and lines at the baseline's gaps."""

from __future__ import annotations

from matplotlib.text import Annotation, Text

from einstellung.diagnoses.shortcuts.figures.plane import draw_plane
from einstellung.report.figures.canvas import drawing


def texts_of(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_the_plane_names_every_method_and_its_corners_and_lines_are_at_the_baselines_gaps(written):
    with drawing():
        figure = draw_plane(written.card)
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.findobj(Annotation)]
    assert sorted(names) == ["cutmix", "erm", "lle"]
    assert "BG gap smaller, CoObj gap larger" in texts_of(figure)
    gap = 100 * written.card.methods["erm"].phases["T1"].own.gaps["background"].mean
    crossing = [
        line for line in axes.lines if list(line.get_xdata()) == [gap, gap] and list(line.get_ydata()) == [0, 1]
    ]
    assert len(crossing) == 1
