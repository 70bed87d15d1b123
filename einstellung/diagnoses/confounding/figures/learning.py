"""Learning curves over all phases, a small panel for every method: what is learned of a task, and what of the ground truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from einstellung.diagnoses.confounding.figures.curves import PhasePart, phase_parts
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import DASHES, FAINT, GREY, INK, PALETTE, WIDTH
from einstellung.report.notation import short_names
from einstellung.timeline import Timeline

FIRST = "cumulative"  # the method whose curves the paper shows
_COLUMNS = 2
_HEIGHT = 1.45
_LOWEST = 0.4  # accuracy at the foot of a panel, unless a curve goes below it
_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "train": ("training images", {"color": PALETTE[0], "linestyle": DASHES[0]}),
    "val": ("validation", {"color": PALETTE[5], "linestyle": DASHES[1]}),
    "test": ("test of the task", {"color": PALETTE[2], "linestyle": DASHES[3]}),
    "unconfounded": ("unconfounded test", {"color": PALETTE[1], "linestyle": DASHES[0], "linewidth": 1.9}),
}


def draw_learning(timeline: Timeline, card: Mapping[str, Any]) -> Figure:
    """One panel per method, phases after each other; a diamond: mean over the tasks met so far at the end of a phase."""
    methods = sorted(card["methods"], key=lambda method: method != FIRST)
    names = short_names(list(card["methods"]))
    columns = min(_COLUMNS, len(methods))
    rows = -(-len(methods) // columns)
    figure = new_figure(WIDTH, rows * _HEIGHT + 0.75)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    lowest = _LOWEST
    for place, axes in enumerate(panels.flat):
        if place >= len(methods):
            axes.set_axis_off()
            continue
        parts = phase_parts(timeline, methods[place], card["tasks"])
        _draw_panel(axes, parts, card)
        lowest = min([lowest, *(float(band.mean.min()) - 0.03 for part in parts for band in part.curves.values())])
        axes.set_title(names[methods[place]], loc="left", fontsize=8, pad=11, parse_math=False)
        if place % columns == 0:
            axes.set_ylabel("accuracy")
        if place + columns >= len(methods):
            axes.set_xlabel("effective epochs, phase after phase")
    panels[0, 0].set_ylim(lowest, 1.02)
    handles = [Line2D([], [], label=words, **style) for words, style in _LINES.values()]
    handles.append(Line2D([], [], label="mean of tasks met", color=INK, marker="D", markersize=3.5, linestyle="none"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=7)
    return figure


def _draw_panel(axes: Axes, parts: list[PhasePart], card: Mapping[str, Any]) -> None:
    end = max(part.end for part in parts)
    for part in parts:
        most = max((len(band.epochs) for band in part.curves.values()), default=0)
        for kind, (_, style) in _LINES.items():
            summary = part.curves.get(kind)
            if summary is None:
                continue
            # a straight line between two rare looks must not be taken for a curve
            rare = {"marker": "o", "markersize": 2.5} if len(summary.epochs) < most or most == 1 else {}
            axes.plot(summary.epochs, summary.mean, zorder=3, **{"linewidth": 1.2, **style, **rare})
            if summary.sd is not None:
                low, high = summary.mean - summary.sd, summary.mean + summary.sd
                axes.fill_between(summary.epochs, low, high, color=style["color"], alpha=0.15, linewidth=0)
        if part.average is not None:
            axes.plot(part.end, part.average, marker="D", color=INK, markersize=3.5, zorder=5, clip_on=False)
        if part.start > 0:
            axes.axvline(part.start, color=FAINT, linewidth=0.8, zorder=1)
        middle = (part.start + part.end) / 2
        label = part.phase if len(parts) > 1 or len(card["tasks"]) == 1 else "all tasks at once"
        axes.text(middle, 1.03, label, transform=axes.get_xaxis_transform(), ha="center", fontsize=6.5, color=GREY)
    axes.axhline(card["chance"], color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    axes.set_xlim(0, end or 1)  # a run of which only the start was measured
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=end >= 4, steps=[1, 2, 5, 10]))
