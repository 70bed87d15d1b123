"""Layers by comparisons: how similar the representations are, a panel per method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.rigidity.card import ProbeRow
from einstellung.diagnoses.rigidity.probe_rows import NULL
from einstellung.diagnoses.rigidity.probe_tables import COMPARISONS
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import INK, WIDTH
from einstellung.report.notation import number, short_names

# Okabe and Ito's blue, light where representations are alike: what has changed stands out.
_CHANGED = LinearSegmentedColormap.from_list("similarity", ["#00304d", "#0072b2", "#9cc9e4", "#eef6fb"])
_NORM = Normalize(0, 1)
_ROW = 0.24  # inches a layer
Cells = dict[tuple[str, str, str], float | None]  # CKA by change, split and layer
_COLUMNS = 2  # panels beside each other


def draw_similarity(rows: tuple[ProbeRow, ...], order: Sequence[str], baseline: str) -> Figure:
    """A heat map per method; a comparison that a method does not have is left blank.

    The baseline is compared with itself of another seed instead: what two seeds alone do.
    """
    methods = [method for method in order if any(row.method == method for row in rows)]
    layers = list(dict.fromkeys(row.of["layer"] for row in rows))
    lines = -(-len(methods) // _COLUMNS)
    height = lines * (_ROW * len(layers) + 0.3) + 0.75
    figure = new_figure(WIDTH, height)
    grid = figure.subplots(lines, _COLUMNS, squeeze=False, sharey=True)
    names = short_names(methods)
    for place, axes in enumerate(grid.flat):
        if place >= len(methods):
            axes.set_visible(False)
            continue
        lowest = place + _COLUMNS >= len(methods)
        cells = _two_seeds(rows) if methods[place] == baseline else {}
        _draw_panel(axes, cells | _cells(rows, methods[place]), layers, lowest=lowest)
        axes.set_title(names[methods[place]], loc="left", fontsize=8, pad=3, parse_math=False)
    bar = figure.colorbar(
        ScalarMappable(_NORM, _CHANGED), ax=list(grid.flat), location="right", fraction=0.03, aspect=24, pad=0.01
    )
    bar.set_label("CKA", fontsize=7.5)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=6.5)
    return figure


def _cells(rows: Sequence[ProbeRow], method: str) -> Cells:
    return {_place(row): row.values["cka"].mean for row in rows if row.method == method}


def _two_seeds(rows: Sequence[ProbeRow]) -> Cells:
    return {_place(row): row.values[f"cka{NULL}"].mean for row in rows if f"cka{NULL}" in row.values}


def _place(row: ProbeRow) -> tuple[str, str, str]:
    return row.of["change"], row.of["split"], row.of["layer"]


def _draw_panel(axes: Axes, cells: Cells, layers: list[str], *, lowest: bool) -> None:
    columns = list(COMPARISONS)
    for (change, split, layer), value in cells.items():
        if value is None:
            continue
        column, line = columns.index((change, split)), layers.index(layer)
        colour = _CHANGED(_NORM(min(max(value, 0.0), 1.0)))
        axes.add_patch(Rectangle((column - 0.5, line - 0.5), 1, 1, facecolor=colour, linewidth=0))
        light = np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.55
        text = number(value, digits=2)
        axes.text(column, line, text, ha="center", va="center", fontsize=6.5, color=INK if light else "white")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(layers) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), list(COMPARISONS.values()) if lowest else [""] * len(columns))
    axes.set_yticks(range(len(layers)), layers)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(layers) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=6.5)
    axes.tick_params(axis="x", labelsize=5.5)
    axes.spines[:].set_visible(False)
