"""Figure 3: accuracy on cue-bearing images over phase 2, the threshold, and the delays read off it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves, epoch_axis
from einstellung.diagnoses.rigidity.figures.delays import who_failed
from einstellung.metrics.bands import band
from einstellung.report.figures.canvas import draw_band, halo, label_line_ends, new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH, MethodStyle, styles_of
from einstellung.report.notation import DASH, epochs, number, short_names

_MAIN_HEIGHT = 2.7
_ROW_HEIGHT = 0.2
_BELOW = {"method": "method below τ", "baseline": "baseline below τ", "both": "below τ", "unknown": "no pair of curves"}
_OVER_LINES: dict[str, Any] = {"path_effects": halo(), "zorder": 7}


def draw_accuracy(curves: PhaseTwoCurves, card: RigidityCard, levels: Mapping[str, float]) -> Figure:
    """Curves above, one row per continual method below: when the baseline and when the method reaches τ.

    ``levels`` are accuracies worth a thin line, such as chance and what the cue alone can give.
    """
    rows = card.compared if card.is_compared else []
    strip = len(rows) * _ROW_HEIGHT + 0.25
    if not rows:
        figure = new_figure(WIDTH, _MAIN_HEIGHT + 0.6)
        _draw_curves(figure.subplots(), curves, card, levels)
        return figure
    figure = new_figure(WIDTH, _MAIN_HEIGHT + strip + 0.6)
    main, below = figure.subplots(2, 1, sharex=True, height_ratios=[_MAIN_HEIGHT, strip])
    _draw_curves(main, curves, card, levels)
    main.set_xlabel("")
    _draw_delays(below, rows, card, curves.last_epoch)
    return figure


def _draw_curves(axes: Axes, curves: PhaseTwoCurves, card: RigidityCard, levels: Mapping[str, float]) -> None:
    styles, names = styles_of(card), short_names(list(card.methods))
    ends = []
    for method, style in styles.items():
        summary = band(curves.accuracy(method))
        if summary is None:
            continue
        draw_band(axes, summary, style)
        ends.append((float(summary.mean[-1]), names[method], style))
    axes.set_ylim(0, 1)
    epoch_axis(axes, curves.last_epoch)
    axes.axhline(card.tau, color=INK, linewidth=0.8, zorder=2)
    tau_label = f"τ = {number(card.tau, digits=2)}"
    axes.text(0.008, card.tau + 0.015, tau_label, transform=axes.get_yaxis_transform(), **_OVER_LINES, fontsize=7.5)
    for words, level in levels.items():
        axes.axhline(level, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
        text = f"{words} {number(level)}"
        place = axes.get_yaxis_transform()
        axes.text(0.992, level + 0.01, text, transform=place, **_OVER_LINES, ha="right", fontsize=6.5, color=GREY)
    for method, style in styles.items():
        crossings = _crossings(card, method)
        if crossings:
            whole = len(crossings) == len(card.methods[method].per_seed)
            axes.plot(fmean(crossings), card.tau, **_mark(style, whole), zorder=6)
    axes.set_ylabel("accuracy, cue present")
    label_line_ends(axes, ends, _MAIN_HEIGHT)


def _crossings(card: RigidityCard, method: str) -> list[float]:
    return [seed.E for seed in card.methods[method].per_seed.values() if seed.E is not None]


def _mark(style: MethodStyle, filled: bool) -> dict[str, Any]:
    face = style.colour if filled else "white"
    size = 9 if style.marker == "*" else 6
    return {
        "marker": style.marker,
        "color": style.colour,
        "markerfacecolor": face,
        "markersize": size,
        "linestyle": "none",
    }


def _draw_delays(axes: Axes, methods: list[str], card: RigidityCard, last: float) -> None:
    """From where the baseline reaches τ to where the method does, over the seeds in which both do."""
    styles, names = styles_of(card), short_names(list(card.methods))
    baseline = card.methods[card.baseline].per_seed
    for row, method in enumerate(methods):
        record, style = card.methods[method], styles[method]
        pairs = [
            (base, own.E)
            for seed, own in record.per_seed.items()
            if own.AD is not None and own.E is not None and (base := baseline[seed].E) is not None
        ]
        total = len(record.per_seed)
        if pairs:
            start, end = fmean(pair[0] for pair in pairs), fmean(pair[1] for pair in pairs)
            axes.plot([start, end], [row, row], color=style.colour, linewidth=2, solid_capstyle="butt", zorder=2)
            for _, reached in pairs:
                axes.plot(reached, row, marker="|", color=style.colour, markersize=7, alpha=0.6, zorder=2)
            axes.plot(start, row, **_mark(styles[card.baseline], True), zorder=3)
            axes.plot(end, row, **_mark(style, len(pairs) == total), zorder=4)
            text = f"AD {epochs(record.AD.mean, signed=True)}"
            text += f"  n {len(pairs)}/{total}" if len(pairs) < total else ""
        else:
            axes.plot([0, last], [row, row], color=FAINT, linewidth=2, linestyle=(0, (1, 1)), zorder=1)
            for name in (card.baseline, method):
                if crossings := _crossings(card, name):
                    axes.plot(fmean(crossings), row, **_mark(styles[name], False), zorder=3)
            text = f"AD {DASH}  {_BELOW[who_failed(record.AD.censored, method, card.baseline)]}"
        axes.text(1.025, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=7.5)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    axes.set_yticks(range(len(methods)), [names[method] for method in methods])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title("time to τ", loc="left", fontsize=7.5, color=GREY, pad=2)
    epoch_axis(axes, last)
