"""Figure 4: the delay against the threshold, and which model did not reach it where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from einstellung.diagnoses.rigidity.card import Censored, Delay, RigidityCard
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.style import INK, WIDTH
from einstellung.report.notation import epochs, short_names

HATCHES = {"method": "////", "baseline": "\\\\\\\\", "both": "xxxx", "unknown": "...."}
_WORDS = {
    "method": "method never crosses",
    "baseline": "baseline never crosses",
    "both": "neither crosses, or it differs by seed",
    "unknown": "no pair of curves",
}
_HATCHED: dict[str, Any] = {"facecolor": "#f4f4f4", "edgecolor": "#9a9a9a", "linewidth": 0}
_MOST_WITH_TEXT = 14  # thresholds; with more, cells are too narrow for a number


def draw_delay_grid(card: RigidityCard) -> Figure:
    """Methods by thresholds; a cell without a delay is hatched by which model did not reach the threshold."""
    rows = {method: card.methods[method].AD_tau for method in card.compared}
    taus = list(next(iter(rows.values())))
    figure = new_figure(WIDTH, 0.85 + 0.34 * len(rows))
    axes = figure.subplots()
    means = [cell.mean for cells in rows.values() for cell in cells.values() if cell.mean is not None]
    extreme = max((abs(mean) for mean in means), default=0.0) or 1.0
    norm = Normalize(-extreme, extreme)
    shown = set()
    for row, (method, cells) in enumerate(rows.items()):
        for column, cell in enumerate(cells.values()):
            corner = (column - 0.5, row - 0.5)
            if cell.mean is None:
                who = who_failed(cell.censored, method, card.baseline)
                shown.add(who)
                axes.add_patch(Rectangle(corner, 1, 1, hatch=HATCHES[who], **_HATCHED))
                continue
            colour = DIVERGING(norm(cell.mean))
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, linewidth=0))
            if len(taus) <= _MOST_WITH_TEXT:
                _write_cell(axes, (column, row), cell, card.methods[method].n_seeds, colour)
    _frame_grid(axes, list(rows), taus, card.tau)
    if means:
        bar = figure.colorbar(ScalarMappable(norm, DIVERGING), ax=axes, pad=0.015, aspect=14, fraction=0.05)
        bar.outline.set_visible(False)
        bar.ax.set_title("later", fontsize=7, pad=4)
        bar.ax.set_xlabel("earlier", fontsize=7, labelpad=4)
        bar.ax.tick_params(labelsize=7)
    handles = [Patch(hatch=hatch, label=_WORDS[who], **_HATCHED) for who, hatch in HATCHES.items() if who in shown]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=7, handleheight=1.2)
    return figure


def who_failed(censored: Censored, method: str, baseline: str | None) -> str:
    """Who kept a delay undefined: ``method``, ``baseline``, ``both`` (also where it differs by seed) or ``unknown``.

    >>> who_failed({1: "sgd", 2: "sgd"}, "sgd", "scratch_t2")
    'method'
    >>> who_failed({}, "sgd", "scratch_t2")
    'unknown'
    """
    blamed = set(censored.values())
    if not blamed:
        return "unknown"
    if blamed == {method}:
        return "method"
    return "baseline" if blamed == {baseline} else "both"


def _write_cell(axes: Axes, place: tuple[int, int], cell: Delay, seeds: int, colour: Any) -> None:
    light = np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.55
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "color": INK if light else "white",
        "textcoords": "offset points",
    }
    partial = cell.n < seeds
    axes.annotate(epochs(cell.mean, signed=True), place, (0, 3.5 if partial else 0), fontsize=8, **style)
    if partial:
        axes.annotate(f"n {cell.n}/{seeds}", place, (0, -6), fontsize=6, **style)


def _frame_grid(axes: Axes, methods: list[str], taus: list[str], tau: float) -> None:
    names = short_names(methods)
    axes.set_xlim(-0.5, len(taus) - 0.5)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    every = -(-len(taus) // _MOST_WITH_TEXT)
    axes.set_xticks(range(0, len(taus), every), taus[::every])
    axes.set_yticks(range(len(methods)), [names[method] for method in methods])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_xticks(np.arange(len(taus) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(methods) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("threshold τ")
    for column, name in enumerate(taus):
        if abs(float(name) - tau) < 1e-9:
            frame: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 1.2, "zorder": 5, "clip_on": False}
            axes.add_patch(Rectangle((column - 0.5, -0.5), 1, len(methods), **frame))
