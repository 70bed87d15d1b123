"""Time to threshold with the seeds that never cross it kept in: Kaplan-Meier steps, one small panel per method."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves, epoch_axis
from einstellung.metrics.survival import SurvivalCurve, kaplan_meier
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import WIDTH, MethodStyle, styles_of
from einstellung.report.notation import epochs, number, short_names


def draw_survival(curves: PhaseTwoCurves, card: RigidityCard) -> Figure:
    """Each method over the baseline; the area between the two is the restricted mean difference."""
    watched = {method: runs for method in card.methods if (runs := curves.times_to_threshold(method))}
    steps = {method: kaplan_meier(runs) for method, runs in watched.items()}
    baseline = steps.get(card.baseline)
    methods = [method for method in card.compared if method in steps] or list(steps)
    styles, names = styles_of(card), short_names(list(card.methods), 16)
    columns = min(len(methods), 4)
    rows = -(-len(methods) // columns)
    figure = new_figure(WIDTH, 0.5 + 1.6 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(panels.flat):
        if place >= len(methods):
            axes.set_visible(False)
            continue
        method = methods[place]
        if baseline is not None and method != card.baseline:
            grid = np.unique(np.concatenate([steps[method].times, baseline.times]))
            between = (step_at(steps[method], grid), step_at(baseline, grid))
            axes.fill_between(grid, *between, step="post", color=styles[method].colour, alpha=0.15, linewidth=0)
            _draw_steps(axes, baseline, styles[card.baseline], curves.last_epoch)
        _draw_steps(axes, steps[method], styles[method], curves.last_epoch)
        axes.set_title(f"{names[method]}\n{_difference(card, method)}", fontsize=7.2, parse_math=False, pad=3)
        axes.set_ylim(-0.04, 1.04)
        epoch_axis(axes, curves.last_epoch, label=False)
        axes.tick_params(labelbottom=place + columns >= len(methods))
    figure.supxlabel("effective epoch of phase 2", fontsize=8)
    figure.supylabel(f"share of seeds\nbelow τ = {number(card.tau, digits=2)}", fontsize=8)
    return figure


def _difference(card: RigidityCard, method: str) -> str:
    summary = card.methods[method].survival
    value = summary.restricted_mean_difference.value if summary is not None else None
    return "" if value is None else f"difference {epochs(value, signed=True)} epochs"


def _draw_steps(axes: Axes, curve: SurvivalCurve, style: MethodStyle, last: float) -> None:
    crossed = curve.share[-1] == 0  # then nobody is left to wait for, and the curve stays where it is
    times, share = (np.append(curve.times, last), np.append(curve.share, 0)) if crossed else (curve.times, curve.share)
    axes.step(times, share, where="post", color=style.colour, linestyle=style.dash, linewidth=1.5)
    if not crossed:
        axes.plot(curve.times[-1], curve.share[-1], marker="+", color=style.colour, markersize=7, clip_on=False)


def step_at(curve: SurvivalCurve, points: np.ndarray) -> np.ndarray:
    """The share at ``points``: a step holds until the next one begins.

    >>> step_at(SurvivalCurve(np.array([0.0, 3.0]), np.array([1.0, 0.5])), np.array([0.0, 2.9, 3.0])).tolist()
    [1.0, 1.0, 0.5]
    """
    return curve.share[np.searchsorted(curve.times, points, side="right") - 1]
