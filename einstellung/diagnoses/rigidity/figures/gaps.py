"""Figures 5 and 6: what separates the models over phase 2, and where each facet stands at the chosen checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves, epoch_axis
from einstellung.metrics.bands import band
from einstellung.report.figures.canvas import draw_band, label_line_ends, new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH, MethodStyle, styles_of
from einstellung.report.notation import short_names

_PANEL_HEIGHT = 2.5


@dataclass(frozen=True)
class _Panel:
    """One facet over time: which curve, which methods, how its axis is labelled."""

    key: str
    curve_of: Callable[[str], pd.DataFrame]
    methods: list[str]
    label: str


def draw_deficit(curves: PhaseTwoCurves, card: RigidityCard) -> Figure:
    """PD over time, paired by seed, and PD at the checkpoint with its interval."""
    label = "PD over time: baseline − continual\n← continual better  |  baseline better →"
    return _draw([_Panel("PD", curves.deficit, card.compared, label)], curves, card)


def draw_reliance(curves: PhaseTwoCurves, card: RigidityCard) -> Figure:
    """SFR_rel over time above Δ of every model; each with its value at the checkpoint."""
    label = "Δ = with cue − cue covered\n← cue hurts  |  cue helps →"
    panels = [_Panel("delta", curves.reliance, list(card.methods), label)]
    if card.is_compared:
        label = "$SFR_{rel}$ = Δ continual − Δ baseline\n← relies less  |  relies more →"
        panels.insert(0, _Panel("SFR_rel", curves.relative_reliance, card.compared, label))
    return _draw(panels, curves, card)


def _draw(panels: list[_Panel], curves: PhaseTwoCurves, card: RigidityCard) -> Figure:
    figure = new_figure(WIDTH, _PANEL_HEIGHT * len(panels) + 0.6)
    rows = figure.subplots(len(panels), 2, sharey="row", squeeze=False, width_ratios=[1, _end_width(card)])
    for panel, (over_time, at_end) in zip(panels, rows, strict=True):
        _draw_panel(over_time, at_end, panel, card)
        lowest = panel is panels[-1]
        epoch_axis(over_time, curves.last_epoch, label=lowest)
        over_time.tick_params(labelbottom=lowest)
        if lowest:
            at_end.set_xlabel("at the check-\npoint, 95 %", fontsize=7)
    return figure


def _end_width(card: RigidityCard) -> float:
    return 0.1 + 0.02 * len(card.methods)


def _draw_panel(over_time: Axes, at_end: Axes, panel: _Panel, card: RigidityCard) -> None:
    styles, names = styles_of(card), short_names(list(card.methods))
    ends = []
    for place, method in enumerate(panel.methods):
        style, estimate = styles[method], card.methods[method].facet(panel.key)
        summary = band(panel.curve_of(method))
        if summary is not None:
            draw_band(over_time, summary, style)
        if estimate.mean is not None:
            _draw_estimate(at_end, place, estimate.mean, estimate.ci95, style)
            ends.append((estimate.mean, names[method], style))
        elif summary is not None:
            ends.append((float(summary.mean[-1]), names[method], style))
    over_time.set_ylim(_limits(over_time, panel, card))
    margin = card.margins.of(panel.key)
    for axes in (over_time, at_end):
        axes.axhline(0, color=INK, linewidth=0.8, zorder=2)
        if margin:
            axes.axhspan(-margin, margin, color=GREY, alpha=0.12, linewidth=0, zorder=0)
    over_time.set_ylabel(panel.label, fontsize=7.5)
    at_end.set_xlim(-0.7, max(len(panel.methods), 1) - 0.3)
    at_end.set_xticks([])
    at_end.tick_params(axis="y", length=0)
    at_end.spines["bottom"].set_visible(False)
    at_end.spines["left"].set_color(FAINT)
    label_line_ends(at_end, ends, _PANEL_HEIGHT, stretch=1 / _end_width(card))


def _draw_estimate(axes: Axes, place: int, mean: float, ci95: tuple[float, float] | None, style: MethodStyle) -> None:
    if ci95 is not None:
        axes.plot([place, place], ci95, color=style.colour, linewidth=1.3, zorder=3)
    size = 7 if style.marker == "*" else 4.5
    axes.plot(place, mean, marker=style.marker, color=style.colour, markersize=size, zorder=4)


def _limits(over_time: Axes, panel: _Panel, card: RigidityCard) -> tuple[float, float]:
    """Room for the curves and the means; an interval that is far wider is cut at the frame, so curves stay readable."""
    low, high = over_time.dataLim.intervaly if over_time.has_data() else (0.0, 0.0)
    records = [card.methods[method].facet(panel.key) for method in panel.methods]
    means = [record.mean for record in records if record.mean is not None]
    reach = 1.6 * max(abs(value) for value in (low, high, *means))
    bounds = [min(max(bound, -reach), reach) for record in records for bound in record.ci95 or ()]
    low, high = min([low, 0, *means, *bounds]), max([high, 0, *means, *bounds])
    room = 0.06 * (high - low) or 0.05
    return low - room, high + room
