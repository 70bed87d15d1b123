"""The inter-task matrices: accuracy on positives and on negatives after every phase, on every task and the unconfounded set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from einstellung.diagnoses.confounding.card import ConfoundingCard, LabelAccuracies
from einstellung.diagnoses.confounding.splits import LABELS, UNCONFOUNDED
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.style import GREY, INK, WIDTH
from einstellung.report.notation import DASH, short_names

# Vermilion: wrong; white: chance; blue: right. Distinct for every kind of colour vision, and in grey by the numbers.
COLOURS = DIVERGING.reversed()
_BLOCKS = 2  # methods in a row
_CELL = 0.235  # inches
_UNMEASURED = "#efefef"
_HEADS = {UNCONFOUNDED: "unconf."}


def draw_matrices(card: ConfoundingCard) -> Figure:
    """For every method two matrices, positives and negatives: rows are phases, columns what is tested."""
    methods, names = list(card.methods), short_names(list(card.methods), 14)
    tasks = card.tasks
    rows = -(-len(methods) // _BLOCKS)
    figure = new_figure(WIDTH, rows * (_CELL * len(tasks) + 0.52) + 0.55)
    panels = figure.subplots(rows, 2 * _BLOCKS, squeeze=False)
    for place in range(rows * _BLOCKS):
        pair = panels[place // _BLOCKS, 2 * (place % _BLOCKS) : 2 * (place % _BLOCKS) + 2]
        if place >= len(methods):
            for axes in pair:
                axes.set_axis_off()
            continue
        method = methods[place]
        for axes, label in zip(pair, LABELS, strict=True):
            _draw_matrix(axes, card.methods[method].matrix, tasks, label)
            title = f"{names[method]}: {label}s" if label == "positive" else f"{label}s"
            axes.set_title(title, loc="left", fontsize=7.5, pad=3, parse_math=False)
            if label == "positive":
                axes.set_yticks(range(len(tasks)), [f"after {task}" for task in tasks])
            else:
                axes.set_yticks([])
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 1), COLOURS), ax=panels, location="bottom", shrink=0.45, aspect=38, pad=0.015
    )
    bar.set_ticks([0, card.chance, 1], labels=["all wrong", "chance", "all right"])
    bar.outline.set_visible(False)
    return figure


def _draw_matrix(
    axes: Axes, matrix: Mapping[str, Mapping[str, LabelAccuracies]], tasks: Sequence[str], label: str
) -> None:
    columns = [*tasks, UNCONFOUNDED]
    values = np.full((len(tasks), len(columns)), np.nan)
    for row, phase in enumerate(tasks):
        for column, what in enumerate(columns):
            mean = getattr(matrix[phase][what], label).mean if phase in matrix else None
            values[row, column] = np.nan if mean is None else mean
    axes.set_facecolor(_UNMEASURED)
    axes.imshow(np.ma.masked_invalid(values), cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="none")
    for (row, column), value in np.ndenumerate(values):
        text = DASH if np.isnan(value) else f"{100 * value:.1f}"
        dark = not np.isnan(value) and abs(value - 0.5) > 0.33
        axes.text(column, row, text, ha="center", va="center", fontsize=6.3, color="white" if dark else INK)
    axes.axvline(len(tasks) - 0.5, color=GREY, linewidth=0.8)
    axes.set_xticks(range(len(columns)), [_HEADS.get(what, what) for what in columns])
    axes.tick_params(length=0, labelsize=6.3, pad=1.5)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(GREY)
        spine.set_linewidth(0.4)
