"""The facets of every method over the phases with a cue, and other figures told of the phase that they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.naming import Naming
from einstellung.diagnoses.rigidity.phase_card import ManyPhases
from einstellung.diagnoses.rigidity.wording import describe_card_seeds, describe_margins
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.plan import Plan
from einstellung.report.figures.style import GREY, INK, WIDTH, MethodStyle, method_styles
from einstellung.report.notation import number, short_names

_PANELS = {"AD": "AD, effective epochs", "PD": "PD", "SFR_rel": "$SFR_{rel}$", "delta": "Δ, absolute"}
_CAPTION = """Every phase with a cue against the baseline of that phase: mean and 95 % interval over seeds, paired by seed; AD at
{tau}; {seeds}. Grey: within the margin ({margins}). {baseline}"""


def phase_plans(card: RigidityCard) -> Iterator[Plan]:
    """The figure of all phases; none with two phases."""
    if card.phases is None:
        return
    words = _CAPTION.format(
        tau=f"τ = {number(card.tau, digits=2)}",
        seeds=describe_card_seeds(card),
        margins=describe_margins(card.margins),
        baseline=f"Black: Δ of {card.baseline}." if card.has_baseline else "",
    )
    compared = any(record.baseline is not None and len(record.methods) > 1 for record in card.phases.records.values())
    why = None if compared or not card.has_baseline else "nothing to compare in any phase"
    title = "Facets over the phases"
    yield Plan("phases", title, " ".join(words.split()), lambda: draw_phases(card), why, "phases")


def told(plan: Plan, naming: Naming) -> Plan:
    """The same figure, with its words told of the phase that plays T2."""
    if naming.is_plain:
        return plan

    def draw() -> Figure:
        figure = plan.draw()
        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_text(naming.text(text.get_text()))
        return figure

    why = None if plan.why is None else naming.text(plan.why)
    return replace(plan, title=naming.text(plan.title), caption=naming.text(plan.caption), why=why, draw=draw)


def draw_phases(card: RigidityCard) -> Figure:
    """A panel a facet, phases from left to right; methods side by side, so that their intervals do not cover each other."""
    assert card.phases is not None, "a card of many phases"
    phases, methods = (
        card.phases,
        list(dict.fromkeys(name for one in card.phases.records.values() for name in one.methods)),
    )
    styles, names = method_styles(methods, card.baseline), short_names(methods, 16)
    figure = new_figure(WIDTH, 4.4)
    panels = figure.subplots(2, 2).ravel()
    for axes, (key, title) in zip(panels, _PANELS.items(), strict=True):
        _draw_panel(axes, key, card, phases, styles)
        axes.set_title(title, pad=4)
    handles = [
        panels[3].plot(
            [], [], color=style.colour, marker=style.marker, linestyle="-", markersize=4, label=names[method]
        )[0]
        for method, style in styles.items()
    ]
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=min(6, len(methods)), frameon=False, fontsize=7
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _draw_panel(axes: Axes, key: str, card: RigidityCard, phases: ManyPhases, styles: dict[str, MethodStyle]) -> None:
    order = list(phases.records)
    step = 0.6 / max(len(styles), 1)
    for place, (method, style) in enumerate(styles.items()):
        shift = (place - (len(styles) - 1) / 2) * step
        means: list[tuple[float, float]] = []
        for at, phase in enumerate(order):
            record = phases.records[phase]
            own = record.methods.get(method)
            if own is None or (method == record.baseline and key != "delta") or own.facet(key).mean is None:
                continue
            summary = own.facet(key)
            x, mean = at + shift, float(summary.mean or 0.0)
            means.append((x, mean))
            if summary.ci95 is not None:
                axes.plot([x, x], summary.ci95, color=style.colour, linewidth=1.4, solid_capstyle="butt", zorder=3)
        if means:
            xs, ys = zip(*means, strict=True)
            axes.plot(xs, ys, color=style.colour, linewidth=0.7, alpha=0.45, zorder=2)
            axes.plot(xs, ys, linestyle="none", color=style.colour, marker=style.marker, markersize=4, zorder=4)
    if margin := card.margins.of(key):
        axes.axhspan(-margin, margin, color=GREY, alpha=0.14, linewidth=0, zorder=0)
    axes.axhline(0, color=INK, linewidth=0.8, zorder=1)
    axes.set_xticks(range(len(order)), order)
    axes.set_xlim(-0.5, len(order) - 0.5)
    axes.margins(y=0.12)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
