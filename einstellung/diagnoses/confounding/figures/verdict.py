"""Unconfounded accuracy of every method with its interval, against the ceiling, the margin and chance."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.verdict import interval_of
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH, method_styles
from einstellung.report.notation import short_names

_ROW = 0.26


def draw_unconfounded(card: ConfoundingCard) -> Figure:
    """A row per method: its unconfounded accuracy (filled), its own tasks right after learning (open diamond), its verdict."""
    methods = list(card.methods)
    names, styles = short_names(methods), method_styles(methods, card.baseline)
    figure = new_figure(WIDTH, _ROW * len(methods) + 0.95)
    axes = figure.subplots()
    lowest = card.chance
    for row, method in enumerate(methods):
        record = card.methods[method]
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        axes.text(1.02, row, record.verdict.name, transform=axes.get_yaxis_transform(), va="center", fontsize=7.5)
        tasks, own = record.own_tasks.mean, record.unconfounded.mean
        if tasks is not None:
            axes.plot(tasks, row, marker="D", color=INK, markerfacecolor="white", markersize=4, zorder=3, clip_on=False)
        if own is None:
            continue
        bounds, _ = interval_of(record.unconfounded, record.images.unconfounded)
        if bounds is not None:
            shown = (max(bounds[0], 0.0), min(bounds[1], 1.0))
            axes.plot(shown, [row, row], color=styles[method].colour, linewidth=2, zorder=2, solid_capstyle="butt")
            lowest = min(lowest, shown[0])
        axes.plot(own, row, marker="o", color=styles[method].colour, markersize=5.5, zorder=4, clip_on=False)
        lowest = min(lowest, own)
    _draw_levels(axes, card)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    axes.set_yticks(range(len(methods)), [names[method] for method in methods])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(max(0.0, lowest - 0.06), 1.0)
    axes.set_xlabel("accuracy: filled, unconfounded images at the end; open, own tasks right after learning them")
    return figure


def _draw_levels(axes: Axes, card: ConfoundingCard) -> None:
    place = axes.get_xaxis_transform()
    axes.axvline(card.chance, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    axes.text(card.chance, 1.02, "chance", transform=place, ha="center", fontsize=6.5, color=GREY)
    ceiling = card.ceiling
    if ceiling is None:
        return
    axes.axvspan(ceiling.mean - card.margin, ceiling.mean, color=GREY, alpha=0.13, linewidth=0, zorder=0)
    axes.axvline(ceiling.mean, color=INK, linewidth=0.9, zorder=1)
    words = f"ceiling {100 * ceiling.mean:.1f} %"
    axes.text(ceiling.mean, 1.02, words, transform=place, ha="right", fontsize=6.5, color=INK)
