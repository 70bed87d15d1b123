"""The watermark and its controls: what each costs in accuracy, and what it does to the class asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, INK, WIDTH, MethodStyle, method_styles
from einstellung.report.notation import short_names

_ROW = 0.2
_APART = 0.5  # of a row, over which the models of that row are spread


def draw_watermark(records: Sequence[Mapping[str, Any]], name: str) -> Figure:
    """A row per condition, a mark per model with its 95 % interval; ``name``: what the class asked about is called."""
    conditions = ["watermark", *records[0]["controls"]]
    models = [record["model"] for record in records]
    styles = method_styles(models, None)
    figure = new_figure(WIDTH, _ROW * max(len(conditions), 4) * (1 + 0.25 * (len(models) - 1)) + 0.8)
    gaps, rises = figure.subplots(1, 2, sharey=True)
    for axes, key in ((gaps, "gap"), (rises, "dp_carton")):
        _draw_panel(axes, records, conditions, key, styles)
    gaps.set_yticks(range(len(conditions)), conditions)
    gaps.set_ylim(len(conditions) - 0.4, -0.6)
    gaps.set_xlabel("accuracy: overlaid − clean, points")
    rises.set_xlabel(f"mean P({name}): overlaid − clean, points", parse_math=False)
    names = short_names(models)
    handles = [
        Line2D([], [], label=_legend(record, names), color=styles[record["model"]].colour, marker=styles[model].marker)
        for model, record in zip(models, records, strict=True)
    ]
    for text in figure.legend(
        handles=handles, loc="outside upper center", ncols=3, frameon=False, fontsize=7
    ).get_texts():
        text.set_parse_math(False)
    return figure


def _legend(record: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"{names[record['model']]}: {100 * record['clean_acc']:.1f} % clean, n = {record['n']:,}"


def _draw_panel(
    axes: Axes,
    records: Sequence[Mapping[str, Any]],
    conditions: Sequence[str],
    key: str,
    styles: Mapping[str, MethodStyle],
) -> None:
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    for row, condition in enumerate(conditions):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        for place, record in enumerate(records):
            at = row + _APART * (place - (len(records) - 1) / 2) / len(records)
            own = record if condition == "watermark" else record["controls"][condition]
            style, bounds = styles[record["model"]], own["intervals"][key]
            if bounds is not None:
                axes.plot([100 * bound for bound in bounds], [at, at], color=style.colour, linewidth=1.4, zorder=2)
            axes.plot(100 * own[key], at, marker=style.marker, color=style.colour, markersize=4.5, zorder=3)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
