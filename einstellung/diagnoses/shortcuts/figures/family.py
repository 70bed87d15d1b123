"""Every gap of every method at the end of every phase, in all studies of a family: what is carried over, what is traded."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.design import correlation_left
from einstellung.diagnoses.shortcuts.figures.marks import Mark
from einstellung.diagnoses.shortcuts.figures.phases import known_gaps
from einstellung.diagnoses.shortcuts.findings import carried_over, traded
from einstellung.diagnoses.shortcuts.notation import gap_head
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, WIDTH
from einstellung.report.notation import short_names

_ROW = 0.155
_SIZE = 4.4
_GONE = "#f0f0f0"  # the ground where a cue tells nothing any more
_EARLIER = Mark("o", GREY, filled=False)
_MARKS = {
    "at the end": Mark("o", "#0072B2"),
    "carried over": Mark("D", "#D55E00"),
    "grew while another shrank": Mark("<", "#CC79A7"),
}
_PLAIN, _CARRIED, _GREW = _MARKS


def draw_family(cards: Mapping[str, ShortcutsCard]) -> Figure:
    """A row of panels per study, a panel per cue, a row in it per method; methods keep their row from panel to panel."""
    methods = list(dict.fromkeys(method for card in cards.values() for method in card.methods))
    names = short_names(methods)
    across = max(len(card.cues) for card in cards.values())
    figure = new_figure(WIDTH, len(cards) * (_ROW * len(methods) + 0.56) + 0.4)
    panels = figure.subplots(len(cards), across, squeeze=False, sharex="row", sharey=True)
    words: set[str] = set()
    for row, (name, card) in zip(panels, cards.items(), strict=True):
        marks = _marks_of(card)
        words |= set(marks.values())
        for place, axes in enumerate(row):
            if place >= len(card.cues):
                axes.set_visible(False)
                continue
            _draw_panel(axes, card, place, methods, marks)
            axes.set_title(f"{name}: {_head(card, place)}", loc="left", fontsize=8, pad=3, parse_math=False)
        _limit(row[0], card)
    for axes in panels[-1]:
        axes.set_xlabel("gap relative to all cues agreeing with the label, points")
    panels[0, 0].set_ylim(len(methods) - 0.4, -0.6)
    panels[0, 0].set_yticks(range(len(methods)), [names[method] for method in methods])
    for axes in panels[:, 0]:
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
    handles = _legend(cards, words)
    legend = figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=7)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def has_gaps(cards: Mapping[str, ShortcutsCard]) -> bool:
    """Whether there is anything to draw."""
    return any(known_gaps(card) for card in cards.values())


def _head(card: ShortcutsCard, place: int) -> str:
    """The gap of a cue, and its correlation phase by phase."""
    rho = [f"{card.correlations[phase][place]:g}" for phase in card.phases if phase in card.correlations]
    return ", ".join([gap_head(card.cues[place]), *([" → ".join(rho)] if rho else [])])


def _marks_of(card: ShortcutsCard) -> dict[tuple[str, str], str]:
    """What is certain about a method's gap of a cue at the end of the last phase: (method, cue) to its mark."""
    last = card.last
    marks = {(method, cue): _PLAIN for method in card.methods for cue in card.cues}
    for (pair, _, after), methods in traded(card).items():
        if after == last:
            marks |= {(method, pair.split(" -> ")[1]): _GREW for method in methods}
    for (cue, _, after), methods in carried_over(card).items():
        if after == last:
            marks |= {(method, cue): _CARRIED for method in methods}
    return marks


def _draw_panel(
    axes: Axes, card: ShortcutsCard, place: int, methods: list[str], marks: Mapping[tuple[str, str], str]
) -> None:
    cue, last = card.cues[place], card.last
    if last in correlation_left(card.correlations, card.phases, place):
        axes.set_facecolor(_GONE)
    axes.axvline(0, color=GREY, linewidth=0.6, zorder=1)
    compared = card.end(card.baseline).common.gaps[cue].mean if card.has_baseline else None
    if compared is not None:
        axes.axvline(100 * compared, color=INK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for row, method in enumerate(methods):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        if method in card.methods:
            _draw_method(axes, card, cue, row, method, _MARKS[marks[method, cue]])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _draw_method(axes: Axes, card: ShortcutsCard, cue: str, row: int, method: str, mark: Mark) -> None:
    """From phase to phase along the row: open marks on the way, a filled one with its interval at the end."""
    record = card.methods[method]
    found = [record.phases[phase].common.gaps[cue] for phase in card.phases]
    way = [100 * estimate.mean for estimate in found if estimate.mean is not None]
    axes.plot(way, [row] * len(way), color=GREY, linewidth=0.8, zorder=2)
    end = found[-1]
    earlier = way if end.mean is None else way[:-1]
    axes.plot(earlier, [row] * len(earlier), zorder=3, **{**_EARLIER.style, "markersize": 3.4, "markeredgewidth": 0.8})
    if end.mean is None:
        return
    if end.ci95 is not None:
        bounds = [100 * bound for bound in end.ci95]
        axes.plot(bounds, [row, row], color=mark.colour, linewidth=3, alpha=0.35, zorder=2, solid_capstyle="butt")
    axes.plot(100 * end.mean, row, zorder=4, **{**mark.style, "markersize": _SIZE})


def _limit(axes: Axes, card: ShortcutsCard) -> None:
    """The same range for all cues of a study, from all means; intervals may leave the picture."""
    means = [*known_gaps(card), 0.0]
    room = 0.06 * max(max(means) - min(means), 1.0)
    axes.set_xlim(min(means) - room, max(means) + room)


def _legend(cards: Mapping[str, ShortcutsCard], words: set[str]) -> list[Line2D]:
    handles = []
    if any(len(card.phases) > 1 for card in cards.values()):
        handles.append(Line2D([], [], label="earlier phase", **{**_EARLIER.style, "markersize": 3.4}))
    handles += [
        Line2D([], [], label=word, **{**mark.style, "markersize": _SIZE})
        for word, mark in _MARKS.items()
        if word in words
    ]
    baselines = {card.baseline for card in cards.values() if card.has_baseline}
    if baselines:
        name = baselines.pop() if len(baselines) == 1 else "the baseline"
        handles.append(Line2D([], [], label=f"{name} at the end", color=INK, linewidth=0.8, linestyle=(0, (4, 2))))
    return handles
