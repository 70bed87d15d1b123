"""The index against one setting: three facets and the absolute reliance, a line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from einstellung.diagnoses.rigidity.family import SWEPT, SweptStudies
from einstellung.metrics.statistics import Summary
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH, MethodStyle, method_styles
from einstellung.report.notation import FACETS, short_names

_TITLES = {"AD": "AD, effective epochs", "PD": "PD", "SFR_rel": "$SFR_{rel}$", "delta": "Δ, absolute"}
_STRIP = 0.13  # part of a panel's height that holds the undefined points
_SIDEWAYS, _SPREAD = (
    0.09,
    0.6,
)  # of the distance between neighbouring values: per method, and all methods together at most
_MOST_TICKS = 12


def draw_sweep(sweep: SweptStudies) -> Figure:
    """Four panels over the swept value; undefined points stand in a strip of their own below the panel."""
    styles, names = method_styles(sweep.methods, sweep.baseline), short_names(sweep.methods)
    # Points of a legend's entry: its line, the space around it, and about five for a letter of the longest name.
    columns = max(1, int(WIDTH * 72 / (45 + 5 * max(map(len, names.values())))))
    figure = new_figure(WIDTH, 4.7 + 0.18 * -(-len(names) // columns))
    panels = figure.subplots(2, 2, sharex=True)
    for axes, key in zip(panels.flat, SWEPT, strict=True):
        _draw_panel(axes, key, sweep, styles)
    for axes in panels[1]:
        axes.set_xlabel(sweep.key, parse_math=False)
    handles = [Line2D([], [], label=names[method], **styles[method].line) for method in sweep.methods]
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=7.5)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def positions(sweep: SweptStudies) -> np.ndarray:
    """Numbers to scale, words at equal distances."""
    return np.array([point.value for point in sweep.points] if sweep.is_numeric else range(len(sweep.points)), float)


@dataclass(frozen=True)
class _Mark:
    """An estimate of a method at one value, and of how many seeds."""

    estimate: Summary
    seeds: int
    censored: bool


def _draw_panel(axes: Axes, key: str, sweep: SweptStudies, styles: Mapping[str, MethodStyle]) -> None:
    places = positions(sweep)
    step = float(np.diff(places).min()) if len(places) > 1 else 1.0
    shown = [method for method in sweep.methods if key == "delta" or method != sweep.baseline]
    estimates = {method: [_mark(sweep, number, method, key) for number in range(len(places))] for method in shown}
    low, high = _limits(key, estimates, sweep)
    undefined = [one for row in estimates.values() for one in row if one is not None and one.estimate.mean is None]
    strip = low - _STRIP * (high - low) / 2
    for place, (method, row) in enumerate(estimates.items()):
        x = places + min(_SIDEWAYS, _SPREAD / len(shown)) * step * (place - (len(shown) - 1) / 2)
        _draw_method(axes, x, row, styles[method], (low, high), strip, joined=sweep.is_numeric)
    axes.set_ylim(low - _STRIP * (high - low) if undefined else low, high)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=1)
    if margin := sweep.points[0].card.margins.of(key):
        axes.axhspan(-margin, margin, color=GREY, alpha=0.14, linewidth=0, zorder=0)
    if undefined:
        _draw_strip(axes, low, strip, "not\nreached" if all(one.censored for one in undefined) else "undefined")
    axes.set_xlim(places[0] - step / 2, places[-1] + step / 2)
    every = -(-len(places) // _MOST_TICKS)
    axes.set_xticks(places[::every], [point.label for point in sweep.points][::every], parse_math=False)
    axes.set_title(_TITLES[key], pad=4)
    facet = FACETS[key]
    axes.set_ylabel(f"← {facet.below}  |  {facet.above} →", fontsize=6.5, color=GREY)


def _mark(sweep: SweptStudies, number: int, method: str, key: str) -> _Mark | None:
    record = sweep.points[number].card.methods.get(method)
    if record is None:
        return None
    return _Mark(record.deciding(key), record.n_seeds, key == "AD" and bool(record.AD.censored))


def _draw_method(
    axes: Axes,
    x: np.ndarray,
    row: Sequence[_Mark | None],
    style: MethodStyle,
    limits: tuple[float, float],
    strip: float,
    *,
    joined: bool,
) -> None:
    means = np.array([np.nan if one is None or one.estimate.mean is None else one.estimate.mean for one in row])
    if joined:
        axes.plot(x, means, color=style.colour, linestyle=style.dash, linewidth=1.3, zorder=3)
    size = 7 if style.marker == "*" else 4.5
    for at, one in zip(x, row, strict=True):
        if one is None:
            continue
        estimate = one.estimate
        if estimate.mean is None:
            axes.plot(at, strip, marker="x", color=style.colour, markersize=4.5, linestyle="none", zorder=4)
            continue
        if estimate.ci95 is not None:
            _draw_interval(axes, at, estimate.ci95, limits, style.colour)
        face = style.colour if estimate.n == one.seeds else "white"
        axes.plot(
            at, estimate.mean, marker=style.marker, color=style.colour, markerfacecolor=face, markersize=size, zorder=4
        )


def _draw_interval(
    axes: Axes, at: float, bounds: tuple[float, float], limits: tuple[float, float], colour: str
) -> None:
    inside = 0.02 * (limits[1] - limits[0])  # so that an arrow's head stays clear of the title
    low, high = max(bounds[0], limits[0] + inside), min(bounds[1], limits[1] - inside)
    axes.plot([at, at], [low, high], color=colour, linewidth=1.1, zorder=2)
    for end, bound, arrow in ((low, bounds[0], "v"), (high, bounds[1], "^")):
        if end != bound:
            axes.plot(at, end, marker=arrow, color=colour, markersize=3, zorder=2)


def _draw_strip(axes: Axes, low: float, strip: float, words: str) -> None:
    axes.axhline(low, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    aside: dict[str, Any] = {"va": "center", "ha": "right", "fontsize": 6, "color": GREY, "linespacing": 0.9}
    axes.text(-0.015, strip, words, transform=axes.get_yaxis_transform(), **aside)
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= axes.get_ylim()[1]])
    axes.spines["left"].set_color(FAINT)


def _limits(key: str, estimates: Mapping[str, Sequence[_Mark | None]], sweep: SweptStudies) -> tuple[float, float]:
    """Room for every mean and margin; an interval that reaches more than twice as far ends in an arrow instead."""
    known = [one.estimate for row in estimates.values() for one in row if one is not None]
    margin = 1.5 * (sweep.points[0].card.margins.of(key) or 0.0)
    inner = [0.0, -margin, margin, *(one.mean for one in known if one.mean is not None)]
    reach = 2 * max(abs(value) for value in inner) or 1.0
    bounds = [min(max(bound, -reach), reach) for one in known for bound in one.ci95 or ()]
    low, high = min([*inner, *bounds]), max([*inner, *bounds])
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room
