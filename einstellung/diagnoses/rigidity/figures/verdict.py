"""The verdict at a glance: every facet of every method with its 95 % interval, the margins shaded."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.report.figures.canvas import halo, new_figure
from einstellung.report.figures.style import BASELINE_COLOUR, FAINT, GREY, INK, WIDTH, styles_of
from einstellung.report.notation import DASH, FACETS, short_names, write

_COLUMNS = {"AD": "AD, effective epochs", "PD": "PD", "SFR_rel": "$SFR_{rel}$", "delta": "Δ, absolute"}
_VALUE: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 6.8, "path_effects": halo()}
_STAR: dict[str, Any] = {"marker": "*", "color": BASELINE_COLOUR, "markerfacecolor": "white", "markersize": 6.5}
_ASIDE: dict[str, Any] = {"va": "center", "ha": "left", "fontsize": 6.8, "color": GREY, "style": "italic"}


def draw_verdict(card: RigidityCard) -> Figure:
    """A forest plot: one column per facet, one row per method; an open star is the baseline's Δ on the same seeds."""
    methods = card.compared or list(card.methods)
    figure = new_figure(WIDTH, 0.95 + 0.36 * len(methods))
    columns = _COLUMNS if card.is_compared else {"delta": _COLUMNS["delta"]}
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    names = short_names(methods, 16)
    for axes, (key, title) in zip(panels, columns.items(), strict=True):
        _draw_column(axes, key, methods, card)
        axes.set_title(title, pad=4)
    panels[0].set_yticks(range(len(methods)), [names[method] for method in methods])
    for label in panels[0].get_yticklabels():
        label.set_parse_math(False)
    panels[0].tick_params(axis="y", pad=7)
    panels[0].set_ylim(len(methods) - 0.4, -0.6)
    return figure


def _draw_column(axes: Axes, key: str, methods: list[str], card: RigidityCard) -> None:
    styles, margin = styles_of(card), card.margins.of(key)
    limits = _limits(key, methods, card)
    for row, method in enumerate(methods):
        estimate, style = card.methods[method].deciding(key), styles[method]
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        if estimate.mean is None:
            axes.text(0.03, row - 0.2, f"{DASH} undefined", transform=axes.get_yaxis_transform(), **_ASIDE)
            continue
        if estimate.ci95 is not None:
            _draw_interval(axes, row, estimate.ci95, style.colour)
        axes.plot(estimate.mean, row, marker=style.marker, color=style.colour, markersize=5, zorder=4)
        partial = estimate.n < card.methods[method].n_seeds
        text = write(key, estimate.mean) + (f"  n {estimate.n}" if partial else "")
        axes.annotate(text, (estimate.mean, row), (0, 5.5), **_VALUE)
        if key == "delta" and (reference := _baseline_delta(card, method)) is not None:
            axes.plot(reference, row + 0.27, **_STAR)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    if margin:
        axes.axvspan(-margin, margin, color=GREY, alpha=0.14, linewidth=0, zorder=0)
    axes.set_xlim(limits)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    facet = FACETS[key]
    axes.set_xlabel(f"← {facet.below}  |  {facet.above} →", fontsize=6.5, color=GREY)


def _baseline_delta(card: RigidityCard, method: str) -> float | None:
    return card.methods[method].deciding("delta_S").mean


def _limits(key: str, methods: list[str], card: RigidityCard) -> tuple[float, float]:
    """Room for every mean, margin and whole interval."""
    estimates = [card.methods[method].deciding(key) for method in methods]
    margin = 1.5 * (card.margins.of(key) or 0.0)
    inner = [0.0, -margin, margin, *(estimate.mean for estimate in estimates if estimate.mean is not None)]
    if key == "delta":
        inner += [value for value in (_baseline_delta(card, method) for method in methods) if value is not None]
    inner += [bound for estimate in estimates for bound in estimate.ci95 or ()]
    room = 0.14 * (max(inner) - min(inner)) or 1.0
    return min(inner) - room, max(inner) + room


def _draw_interval(axes: Axes, row: int, bounds: tuple[float, float], colour: str) -> None:
    axes.plot(bounds, [row, row], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
    for end in bounds:
        axes.plot(end, row, marker="|", color=colour, markersize=5, zorder=3)
