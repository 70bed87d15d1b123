"""The effect of every finding, with the same mask in other fillings and on other classes, and random masks."""

from __future__ import annotations

from matplotlib.figure import Figure

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import FAINT, GREY, INK, PALETTE, WIDTH
from einstellung.report.notation import short_names

MOST = 14  # findings that are drawn
_ROW = 0.34


def draw_controls(card: AuditCard) -> Figure:
    """A row per finding: Δ with its interval (filled), each filling, NSC and random masks (open)."""
    shown = [(name, *one) for name, record in card.methods.items() for one in record.numbered]
    shown = sorted(shown, key=lambda one: (not one[2], -one[3].strength))[:MOST]
    names = short_names(list(card.methods))
    figure = new_figure(WIDTH, _ROW * len(shown) + 1.25)
    axes = figure.subplots()
    labels = []
    for row, (name, place, certain, found) in enumerate(shown):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
        labels.append(
            f"{names[name]}, {place}{'' if certain else '?'}: {found.name}"
            if len(card.methods) > 1
            else f"{place}{'' if certain else '?'}: {found.name}"
        )
        if found.ci95 is not None:
            axes.plot(found.ci95, [row, row], color=INK, linewidth=1.6, zorder=2, solid_capstyle="butt")
        axes.plot(
            found.delta, row, marker="o", color=INK, markersize=6, zorder=5, linestyle="none", label="Δ, black (95 %)"
        )
        if found.fillings:
            values = list(found.fillings.values())
            axes.plot(
                values,
                [row] * len(values),
                marker="|",
                color=PALETTE[0],
                markersize=10,
                markeredgewidth=1.6,
                zorder=4,
                linestyle="none",
                label="each filling",
            )
        for value, marker, colour, words in (
            (found.nsc, "s", PALETTE[2], "NSC: same mask, other classes"),
            (found.random, "D", PALETTE[1], "random masks of equal area"),
        ):
            if value is not None:
                axes.plot(
                    value,
                    row,
                    marker=marker,
                    color=colour,
                    markerfacecolor="white",
                    markersize=5.5,
                    zorder=3,
                    linestyle="none",
                    label=words,
                )
    axes.axvline(0, color=GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("accuracy lost (proxy)")
    handles, legends = axes.get_legend_handles_labels()
    unique = dict(zip(legends, handles, strict=True))
    figure.legend(
        unique.values(), unique.keys(), loc="outside upper left", ncols=4, frameon=False, fontsize=7, handletextpad=0.3
    )
    return figure
