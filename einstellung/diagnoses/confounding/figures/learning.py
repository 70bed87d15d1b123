"""Learning curves over all phases, a small panel for every method: what is learned of a task, and what of the ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.runs import task_curve
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.metrics.bands import Band, band
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import DASHES, FAINT, GREY, INK, PALETTE, WIDTH
from einstellung.report.notation import short_names
from einstellung.timeline import Curve, Timeline

FIRST = "cumulative"  # the method whose curves the paper shows
_COLUMNS = 2
_HEIGHT = 1.45
_LOWEST = 0.4  # accuracy at the foot of a panel, unless a curve goes below it
_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "train": ("training images", {"color": PALETTE[0], "linestyle": DASHES[0]}),
    "val": ("validation", {"color": PALETTE[5], "linestyle": DASHES[1]}),
    "test": ("test of the task", {"color": PALETTE[2], "linestyle": DASHES[3]}),
    UNCONFOUNDED: ("unconfounded test", {"color": PALETTE[1], "linestyle": DASHES[0], "linewidth": 1.9}),
}


def draw_learning(timeline: Timeline, card: ConfoundingCard) -> Figure:
    """One panel per method, phases after each other; a diamond: mean over the tasks met so far at the end of a phase."""
    methods = sorted(card.methods, key=lambda method: method != FIRST)
    names = short_names(list(card.methods))
    columns = min(_COLUMNS, len(methods))
    rows = -(-len(methods) // columns)
    figure = new_figure(WIDTH, rows * _HEIGHT + 0.75)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    lowest = _LOWEST
    for place, axes in enumerate(panels.flat):
        if place >= len(methods):
            axes.set_axis_off()
            continue
        parts = phase_parts(timeline, methods[place], card.tasks)
        _draw_panel(axes, parts, card)
        lowest = min([lowest, *(float(band.mean.min()) - 0.03 for part in parts for band in part.curves.values())])
        axes.set_title(names[methods[place]], loc="left", fontsize=8, pad=11, parse_math=False)
        if place % columns == 0:
            axes.set_ylabel("accuracy")
        if place + columns >= len(methods):
            axes.set_xlabel("effective epochs, phase after phase")
    panels[0, 0].set_ylim(lowest, 1.02)
    handles = [Line2D([], [], label=words, **style) for words, style in _LINES.values()]
    handles.append(
        Line2D([], [], label="mean of tasks so far", color=INK, marker="D", markersize=3.5, linestyle="none")
    )
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=7)
    return figure


def _draw_panel(axes: Axes, parts: list[PhasePart], card: ConfoundingCard) -> None:
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
        label = part.phase if len(parts) > 1 or len(card.tasks) == 1 else "all tasks at once"
        axes.text(middle, 1.03, label, transform=axes.get_xaxis_transform(), ha="center", fontsize=6.5, color=GREY)
    axes.axhline(card.chance, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    axes.set_xlim(0, end or 1)  # a run of which only the start was measured
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=end >= 4, steps=[1, 2, 5, 10]))


@dataclass(frozen=True)
class PhasePart:
    """One phase of one method: where it starts and ends on the common axis, its curves by kind, and its end."""

    phase: str
    start: float
    end: float
    curves: Mapping[str, Band]
    average: float | None


def phase_parts(timeline: Timeline, method: str, tasks: Sequence[str]) -> list[PhasePart]:
    """The phases of a method after each other; effective epochs count on from phase to phase.

    ``average`` is the accuracy over all tasks met so far, at the end of the phase; a method that learns all at once has met all.
    """
    parts: list[PhasePart] = []
    start = 0.0
    phases = dict.fromkeys(phase for seed in timeline.seeds(method) for phase in timeline.phases(method, seed))
    for phase in sorted(phases, key=lambda name: int(name[1:])):
        runs = {seed: timeline.curves(method, seed, phase) for seed in timeline.seeds(method)}
        known = _aligned({seed: curves for seed, curves in runs.items() if curves})
        length = max(float(curve.epochs[-1]) for curves in known.values() for curve in curves.values())
        bands = {}
        for kind in _LINES:
            table = _table(known, phase, kind)
            if (summary := band(table)) is not None:
                bands[kind] = Band(summary.epochs + start, summary.mean, summary.sd, summary.n)
        met = tasks if len(phases) == 1 else tasks[: tasks.index(phase) + 1]
        parts.append(PhasePart(phase, start, start + length, bands, _average(known, met, length)))
        start += length
    return parts


def _aligned(runs: Mapping[int, Mapping[str, Curve]]) -> Mapping[int, Mapping[str, Curve]]:
    """The same runs with moments in common: the k-th of each at the mean of their effective epochs.

    Of a buffer that is drawn at random, each seed has a few more or fewer images of the phase itself, so that no two of its
    runs are measured at the same effective epoch. Runs that were not measured as often stay as they are.
    """
    moments = {
        seed: np.unique(np.round(np.concatenate([curve.epochs for curve in curves.values()]), 9))
        for seed, curves in runs.items()
    }
    if len({len(epochs) for epochs in moments.values()}) != 1:
        return runs
    common = np.mean(list(moments.values()), axis=0)
    return {
        seed: {
            split: replace(curve, epochs=common[np.searchsorted(moments[seed], np.round(curve.epochs, 9))])
            for split, curve in curves.items()
        }
        for seed, curves in runs.items()
    }


def _table(runs: Mapping[int, Mapping[str, Curve]], phase: str, kind: str) -> pd.DataFrame:
    columns = {}
    for seed, curves in runs.items():
        if kind in ("train", "val"):
            curve = curves.get(f"{phase}_{kind}")
            found = None if curve is None else (curve.epochs, curve.acc)
        else:
            found = task_curve(curves, phase if kind == "test" else UNCONFOUNDED)
        if found is not None:
            columns[seed] = pd.Series(found[1], index=np.round(found[0], 9))
    return pd.DataFrame(columns, dtype=float)


def _average(runs: Mapping[int, Mapping[str, Curve]], met: Sequence[str], end: float) -> float | None:
    values = []
    for curves in runs.values():
        for task in met:
            found = task_curve(curves, task)
            if found is None or abs(found[0][-1] - end) > 1e-6:
                return None
            values.append(float(found[1][-1]))
    return float(np.mean(values)) if values else None
