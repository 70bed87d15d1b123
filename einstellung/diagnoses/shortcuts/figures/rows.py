"""Every gap of every method with its interval, in rows, against the baseline's."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.figures.marks import GAP_MARKS
from einstellung.diagnoses.shortcuts.notation import gap_head
from einstellung.diagnoses.shortcuts.verdict import UNDECIDED
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH
from einstellung.report.notation import short_names

_ROW = 0.17
_ACROSS = 4  # panels beside each other


def draw_gap_rows(card: ShortcutsCard) -> Figure:
    """A panel for every set of cues, a row for every method."""
    methods, gaps = list(card.methods), card.gaps
    across = min(len(gaps), _ACROSS)
    down = math.ceil(len(gaps) / across)
    figure = new_figure(WIDTH, down * (_ROW * len(methods) + 0.62) + 0.1)
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    names = short_names(methods)
    for axes, gap in zip(panels.flat, gaps, strict=False):
        _draw_panel(axes, card, methods, gap)
    for axes in list(panels.flat)[len(gaps) :]:
        axes.set_visible(False)
    panels[0, 0].set_ylim(len(methods) - 0.4, -0.6)
    for axes in panels[:, 0]:
        axes.set_yticks(range(len(methods)), [names[method] for method in methods])
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
    return figure


def word_for(card: ShortcutsCard, method: str, gap: str) -> str | None:
    """The verdict that marks a gap: that on the reliance on its cue; none on several cues at once."""
    cues = card.methods[method].verdict.cues
    if gap in card.cues:
        return cues[gap].name if gap in cues else None
    return UNDECIDED if cues else None


def _draw_panel(axes: Axes, card: ShortcutsCard, methods: list[str], gap: str) -> None:
    means: list[float] = []
    for row, method in enumerate(methods):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        estimate = card.end(method).own.gaps[gap]
        if estimate.mean is None:
            continue
        mark = GAP_MARKS[word_for(card, method, gap)]
        means.append(100 * estimate.mean)
        if estimate.ci95 is not None:
            ends = [100 * bound for bound in estimate.ci95]
            axes.plot(ends, [row, row], color=mark.colour, linewidth=1.4, alpha=0.6, zorder=2, solid_capstyle="butt")
        axes.plot(means[-1], row, zorder=3, **{**mark.style, "markersize": 4.6 if mark.marker != "*" else 7})
    compared = card.end(card.baseline).own.gaps[gap].mean if card.has_baseline else None
    if compared is not None:
        margin = 100 * card.margin
        axes.axvspan(100 * compared - margin, 100 * compared + margin, color=GREY, alpha=0.13, linewidth=0, zorder=0)
        axes.axvline(100 * compared, color=INK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.axvline(0, color=GREY, linewidth=0.6, zorder=1)
    if means:
        low, high = min(*means, 0.0), max(*means, 0.0)
        room = 0.14 * max(high - low, 1.0)
        axes.set_xlim(low - room, high + room)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_title(gap_head(gap), loc="left", fontsize=8, pad=3, parse_math=False)
    axes.set_xlabel("points")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
