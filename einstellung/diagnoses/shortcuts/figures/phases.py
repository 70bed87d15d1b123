"""Gaps over the phases of a continual learner: a panel for every cue, a line for every method."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.notation import gap_head
from einstellung.report.figures.canvas import label_line_ends, new_figure
from einstellung.report.figures.style import GREY, WIDTH, MethodStyle, method_styles
from einstellung.report.notation import short_names

_SPREAD = 0.22  # by how much of a phase the methods stand apart, so that their intervals can be told apart


def draw_phases(card: ShortcutsCard) -> Figure:
    """The cues side by side, with the legend next to the last. Below every phase, the cue's correlation in it."""
    cues, phases = card.cues, card.phases
    height = max(2.6, 0.15 * len(card.methods) + 1.0)
    figure = new_figure(WIDTH, height + 0.3)
    panels = figure.subplots(1, len(cues), squeeze=False, sharey=True)[0]
    for place, (axes, cue) in enumerate(zip(panels, cues, strict=True)):
        _draw_panel(axes, card, cue)
        ticks = [
            f"{phase}\n{card.correlations[phase][place]:g}" if phase in card.correlations else phase for phase in phases
        ]
        axes.set_xticks(range(len(phases)), ticks)
        axes.set_xlim(-0.3, len(phases) - 0.7)
        axes.set_title(gap_head(cue), loc="left", fontsize=8.5, pad=4, parse_math=False)
    panels[0].set_ylabel("gap against all cues common, points")
    panels[0].set_xlabel("phase, and the cue's correlation")
    label_line_ends(panels[-1], _ends(card, cues[-1]), height - 0.6, stretch=len(cues))
    return figure


def _draw_panel(axes: Axes, card: ShortcutsCard, cue: str) -> None:
    styles = method_styles(list(card.methods), card.baseline)
    count = len(card.methods)
    axes.axhline(0, color=GREY, linewidth=0.6, zorder=1)
    for place, (method, record) in enumerate(card.methods.items()):
        shift = _SPREAD * ((place + 0.5) / count - 0.5)
        found = [(index, record.phases[phase].common.gaps[cue]) for index, phase in enumerate(card.phases)]
        known = [(index + shift, 100 * estimate.mean) for index, estimate in found if estimate.mean is not None]
        at, means = [place for place, _ in known], [mean for _, mean in known]
        axes.plot(at, means, linewidth=1.2, zorder=3, **styles[method].line)
        for index, estimate in found:
            if estimate.ci95 is not None:
                ends = [100 * bound for bound in estimate.ci95]
                axes.plot([index + shift] * 2, ends, color=styles[method].colour, linewidth=0.8, alpha=0.45, zorder=2)
    _limit(axes, card)


def known_gaps(card: ShortcutsCard) -> list[float]:
    """The mean gap of every method, phase and cue from where all cues go with the label, in points."""
    found = [
        record.phases[phase].common.gaps[cue].mean
        for record in card.methods.values()
        for phase in card.phases
        for cue in card.cues
    ]
    return [100 * mean for mean in found if mean is not None]


def _limit(axes: Axes, card: ShortcutsCard) -> None:
    """The same range for all cues, from all means; intervals may leave the picture."""
    means = known_gaps(card)
    low, high = min([*means, 0.0]), max([*means, 0.0])
    room = 0.12 * max(high - low, 1.0)
    axes.set_ylim(low - room, high + room)


def _ends(card: ShortcutsCard, cue: str) -> list[tuple[float, str, MethodStyle]]:
    names, styles = short_names(list(card.methods)), method_styles(list(card.methods), card.baseline)
    ends = []
    for method, record in card.methods.items():
        known = [record.phases[phase].common.gaps[cue].mean for phase in card.phases]
        values = [value for value in known if value is not None]
        if values:
            ends.append((100 * values[-1], names[method], styles[method]))
    return ends
