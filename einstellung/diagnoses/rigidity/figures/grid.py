"""Heat maps over two swept settings: a row of panels per method, a column per facet."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from einstellung.diagnoses.rigidity.grid import FACETS_SHOWN, SweptGrid
from einstellung.report.figures.canvas import DIVERGING, new_figure
from einstellung.report.figures.style import INK, WIDTH
from einstellung.report.notation import FACETS, short_names, write

_TITLES = {"SFR_rel": "$SFR_{rel}$", "PD": "PD", "AD": "AD, effective epochs"}
_ROW = 0.3  # inches a value
_MOST_WITH_TEXT = 7  # columns; with more, cells are too narrow for a number


def draw_grid(grid: SweptGrid) -> Figure:
    """Blue below 0, vermilion above, as in every figure of facets."""
    heights = _ROW * len(grid.rows) + 0.3
    figure = new_figure(WIDTH, heights * len(grid.methods) + 1.0)
    panels = figure.subplots(len(grid.methods), len(FACETS_SHOWN), squeeze=False, sharex=True, sharey=True)
    names = short_names(grid.methods)
    for column, key in enumerate(FACETS_SHOWN):
        norm = _norm(grid, key)
        for row, method in enumerate(grid.methods):
            _draw_panel(panels[row, column], grid, method, key, norm)
        facet = FACETS[key]
        mapped = ScalarMappable(norm, DIVERGING)
        bar = figure.colorbar(mapped, ax=list(panels[:, column]), location="top", fraction=0.06, aspect=24, pad=0.02)
        bar.set_label(f"{_TITLES[key]}\n← {facet.below}  |  {facet.above} →", fontsize=7)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=6.5)
        panels[-1, column].set_xlabel(grid.keys[1], parse_math=False)
    for row, method in enumerate(grid.methods):
        panels[row, 0].set_title(names[method], loc="left", fontsize=8, pad=3, parse_math=False)
        panels[row, 0].set_ylabel(grid.keys[0], parse_math=False)
    return figure


def _norm(grid: SweptGrid, key: str) -> Normalize:
    """One scale around 0 for all methods."""
    found = [grid.facet(m, row, column, key) for m in grid.methods for row in grid.rows for column in grid.columns]
    reach = max((abs(one.mean) for one in found if one is not None and one.mean is not None), default=0.0) or 1.0
    return Normalize(-reach, reach)


def _draw_panel(axes: Axes, grid: SweptGrid, method: str, key: str, norm: Normalize) -> None:
    for y, row in enumerate(grid.rows):
        for x, column in enumerate(grid.columns):
            found, corner = grid.facet(method, row, column, key), (x - 0.5, y - 0.5)
            if found is None or found.mean is None:
                axes.add_patch(
                    Rectangle(corner, 1, 1, facecolor="#f4f4f4", edgecolor="#9a9a9a", linewidth=0, hatch="////")
                )
                continue
            colour = DIVERGING(norm(found.mean))
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, linewidth=0))
            if len(grid.columns) <= _MOST_WITH_TEXT:
                light = np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.55
                sure = found.ci95 is not None and (found.ci95[0] > 0 or found.ci95[1] < 0)
                ink, weight = INK if light else "white", "bold" if sure else "normal"
                size = 6.5 if len(grid.columns) <= 4 else 5.5
                axes.text(
                    x, y, write(key, found.mean), ha="center", va="center", fontsize=size, color=ink, weight=weight
                )
    axes.set_xlim(-0.5, len(grid.columns) - 0.5)
    axes.set_ylim(len(grid.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(grid.columns)), grid.columns, parse_math=False)
    axes.set_yticks(range(len(grid.rows)), grid.rows, parse_math=False)
    axes.set_xticks(np.arange(len(grid.columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(grid.rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0, labelsize=6.5)
    axes.spines[:].set_visible(False)
