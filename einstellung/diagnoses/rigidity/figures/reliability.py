"""Reliability diagrams: accuracy against confidence, with the cue, with it covered, and on classes that do not own it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from einstellung.diagnoses.rigidity.probe_tables import CONDITIONS
from einstellung.metrics.calibration import BINS
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import GREY, WIDTH
from einstellung.report.notation import short_names
from einstellung.results.probe_files import CalibrationReading, ProbeFile
from einstellung.timeline import NSC, NSC_PATCHED, SC_MASK, SC_PATCH

# Okabe and Ito: the cue's images in warm colours, the others in cold ones; dashed where the cue is not as in training.
_STYLES: dict[str, tuple[str, Any, str]] = {
    SC_PATCH: ("#D55E00", "-", "o"),
    SC_MASK: ("#E69F00", (0, (4, 1.5)), "s"),
    NSC: ("#0072B2", "-", "^"),
    NSC_PATCHED: ("#56B4E9", (0, (4, 1.5)), "D"),
}
_COLUMNS = 3  # panels beside each other
_PANEL = 2.05  # inches


def draw_reliability(file: ProbeFile[CalibrationReading], methods: Sequence[str]) -> Figure:
    """A panel per method; images of all seeds are counted together, the size of a mark is their number."""
    shown = [method for method in methods if any(run.method == method for run in file.runs)]
    columns = min(_COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    figure = new_figure(max(WIDTH * columns / _COLUMNS, 4.6), lines * _PANEL + 0.45)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    names = short_names(shown)
    for place, axes in enumerate(grid.flat):
        if place >= len(shown):
            axes.set_visible(False)
            continue
        _draw_panel(axes, file, shown[place])
        axes.set_title(names[shown[place]], loc="left", fontsize=8, pad=3, parse_math=False)
        if place + columns >= len(shown):
            axes.set_xlabel("confidence")
            axes.tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel("accuracy")
    handles = [
        Line2D([], [], color=colour, linestyle=dash, marker=marker, markersize=3.6, label=CONDITIONS[split])
        for split, (colour, dash, marker) in _STYLES.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=7)
    return figure


def pooled(file: ProbeFile[CalibrationReading], method: str, split: str) -> np.ndarray:
    """Bins of equal width over the images of all seeds: rows of confidence, accuracy and share of the images."""
    bins = [
        one for run in file.runs if run.method == method for r in run.readings if r.split == split for one in r.bins
    ]
    number = np.array([min(int(np.ceil(one.confidence * BINS - 1e-9)) - 1, BINS - 1) for one in bins])
    counts = np.array([one.n for one in bins], float)
    rows = []
    for k in sorted(set(number.tolist())):
        own = number == k
        confidence = np.average([one.confidence for one in bins], weights=counts * own)
        accuracy = np.average([one.accuracy for one in bins], weights=counts * own)
        rows.append((confidence, accuracy, counts[own].sum() / counts.sum()))
    return np.array(rows).reshape(-1, 3)


def _draw_panel(axes: Axes, file: ProbeFile[CalibrationReading], method: str) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    for split, (colour, dash, marker) in _STYLES.items():
        points = pooled(file, method, split)
        if not len(points):
            continue
        axes.plot(points[:, 0], points[:, 1], color=colour, linestyle=dash, linewidth=1, alpha=0.8, zorder=2)
        sizes = 3 + 60 * points[:, 2]
        axes.scatter(points[:, 0], points[:, 1], s=sizes, color=colour, marker=marker, linewidths=0, zorder=3)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")
