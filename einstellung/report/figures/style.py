"""One look for all figures: a method keeps its colour, its dash and its marker from the first figure to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# Okabe and Ito's colour-blind-safe colours. Black is the baseline's; their yellow is left out: it vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BASELINE_COLOUR = "#000000"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)), (0, (8, 1.5, 1, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

INK = "#1a1a1a"
GREY = "#6b6b6b"
FAINT = "#d9d9d9"

# The methods of the paper keep their place in every report, whatever else is compared with them.
FAMILIAR = ("sgd", "ewc_on", "derpp", "gpm", "dgr", "interleaved", "er", "der", "ewc", "joint", "cumulative")

WIDTH = 7.0  # inches: the text width of a two-column paper

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib, so every machine draws the same bytes
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "hatch.linewidth": 0.6,
    "hatch.color": "#9a9a9a",
    "lines.linewidth": 1.6,
    "mathtext.default": "regular",
    "axes.unicode_minus": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "einstellung",
}


@dataclass(frozen=True)
class MethodStyle:
    """How one method is drawn."""

    colour: str
    dash: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Keyword arguments for a line with markers."""
        return {"color": self.colour, "linestyle": self.dash, "marker": self.marker, "markersize": 3.6}


def _slot(index: int) -> MethodStyle:
    return MethodStyle(PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])


def method_styles(methods: Sequence[str], baseline: str | None) -> dict[str, MethodStyle]:
    """Colour, dash and marker for every method; colour and dash together are unique for up to 30 methods.

    >>> styles = method_styles(["scratch_t2", "sgd", "mine"], "scratch_t2")
    >>> styles["scratch_t2"].colour, styles["sgd"].colour, styles["mine"].colour
    ('#000000', '#0072B2', '#D55E00')
    """
    others = [method for method in methods if method != baseline]
    slot_of = {name: slot for slot, name in enumerate(FAMILIAR) if name in others}
    free = iter(slot for slot in range(len(FAMILIAR) + len(others)) if slot not in set(slot_of.values()))
    styles = {method: _slot(slot_of[method] if method in slot_of else next(free)) for method in others}
    if baseline in methods:
        styles[str(baseline)] = MethodStyle(BASELINE_COLOUR, (0, (3, 1.2)), "*")
    return {method: styles[method] for method in methods}


class Compared(Protocol):
    """A card: methods, and the baseline that they are compared with."""

    @property
    def methods(self) -> Mapping[str, Any]: ...

    @property
    def baseline(self) -> str: ...


def styles_of(card: Compared) -> dict[str, MethodStyle]:
    """The styles of a card's methods."""
    return method_styles(list(card.methods), card.baseline)
