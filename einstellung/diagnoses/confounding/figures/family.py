"""Unconfounded accuracy of every method in every study of a family, with what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.diagnoses.confounding.verdict import interval_of
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, PALETTE, WIDTH
from einstellung.report.notation import short_names

_ROW = 0.2
_COLUMNS = 2


def draw_family(studies: Mapping[str, ConfoundingCard]) -> Figure:
    """A panel per study; methods keep their row from panel to panel."""
    methods = list(dict.fromkeys(method for card in studies.values() for method in card.methods))
    columns = min(_COLUMNS, len(studies))
    rows = -(-len(studies) // columns)
    figure = new_figure(WIDTH, rows * (_ROW * len(methods) + 0.5) + 0.55)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(panels.flat):
        if place >= len(studies):
            axes.set_axis_off()
            continue
        name = list(studies)[place]
        _draw_panel(axes, studies[name], methods)
        axes.set_title(name, loc="left", fontsize=8, parse_math=False)
        if place + columns >= len(studies):
            axes.set_xlabel("accuracy on unconfounded images")
            axes.tick_params(labelbottom=True)
    names = short_names(methods)
    first = panels[0, 0]
    first.set_xlim(0.35, 1.0)
    first.set_ylim(len(methods) - 0.4, -0.6)
    first.set_yticks(range(len(methods)), [names[method] for method in methods])
    for axes in panels[:, 0]:
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
    handles = [
        Line2D([], [], label="measured", color=PALETTE[0], marker="o", markersize=5, linewidth=2),
        Line2D([], [], label="reported", color=PALETTE[1], marker="x", markersize=5, linestyle="none"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, fontsize=7)
    return figure


def _draw_panel(axes: Axes, card: ConfoundingCard, methods: list[str]) -> None:
    axes.axvline(card.chance, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    if (ceiling := card.ceiling) is not None:
        axes.axvspan(ceiling.mean - card.margin, ceiling.mean, color=GREY, alpha=0.13, linewidth=0, zorder=0)
        axes.axvline(ceiling.mean, color=INK, linewidth=0.9, zorder=1)
    for row, method in enumerate(methods):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        reported = card.reported.methods.get(method)
        if reported is not None:
            axes.plot(
                reported[UNCONFOUNDED].mean,
                row,
                marker="x",
                color=PALETTE[1],
                markersize=5,
                zorder=5,
                clip_on=False,
            )
        record = card.methods.get(method)
        if record is None or record.unconfounded.mean is None:
            continue
        bounds, _ = interval_of(record.unconfounded, record.images.unconfounded)
        if bounds is not None:
            axes.plot([max(bounds[0], 0), min(bounds[1], 1)], [row, row], color=PALETTE[0], linewidth=2, zorder=2)
        axes.plot(record.unconfounded.mean, row, marker="o", color=PALETTE[0], markersize=5, zorder=4, clip_on=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
