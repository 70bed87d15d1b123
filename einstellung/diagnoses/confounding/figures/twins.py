"""Twins: the same scenes with the confounder taken away or put in, and what that does to the answers."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH, method_styles
from einstellung.report.notation import short_names

_ROW = 0.19
_CHANGE = {"positive": "taken away", "negative": "put in"}


def draw_twins(card: ConfoundingCard) -> Figure:
    """Positives above, negatives below, a column per task: filled, the images as they are; open, their twins."""
    methods, tasks, confounders = list(card.methods), card.tasks, card.confounder_of
    figure = new_figure(WIDTH, 2 * (_ROW * len(methods) + 0.55) + 0.45)
    panels = figure.subplots(2, len(tasks), squeeze=False, sharex=True, sharey=True)
    for row, (label, change) in zip(panels, _CHANGE.items(), strict=True):
        for axes, task in zip(row, tasks, strict=True):
            _draw_panel(axes, card, methods, task, label)
            named = f"'{confounders[task]}'" if task in confounders else "confounder"
            axes.set_title(f"{task} {label}s: {named} {change}", loc="left", fontsize=7, pad=3, parse_math=False)
    names = short_names(methods)
    panels[0, 0].set_ylim(len(methods) - 0.4, -0.6)
    for axes in panels[:, 0]:
        axes.set_yticks(range(len(methods)), [names[method] for method in methods])
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
    for axes in panels[-1]:
        axes.set_xlabel("accuracy")
    handles = [
        Line2D([], [], label=words, color=INK, marker="o", markersize=4.5, linestyle="none", markerfacecolor=face)
        for words, face in (("the test images as they are", INK), ("their twins, confounder changed", "white"))
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, fontsize=7)
    return figure


def _draw_panel(axes: Axes, card: ConfoundingCard, methods: list[str], task: str, label: str) -> None:
    styles = method_styles(methods, card.baseline)
    axes.axvline(card.chance, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    for row, method in enumerate(methods):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        before, after = (estimate.mean for estimate in card.methods[method].twins[task].learned.pair(label))
        if before is None or after is None:
            axes.text(0.5, row, "not measured", ha="center", va="center", fontsize=6, color=GREY)
            continue
        colour = styles[method].colour
        axes.plot([before, after], [row, row], color=colour, linewidth=1.6, zorder=2, clip_on=False)
        axes.plot(before, row, marker="o", color=colour, markersize=5, zorder=3, clip_on=False)
        axes.plot(after, row, marker="o", color=colour, markerfacecolor="white", markersize=5, zorder=4, clip_on=False)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
