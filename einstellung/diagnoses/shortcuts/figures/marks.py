"""Marks of the verdicts on several shortcuts: a shape and a colour for each, distinct without colour too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from einstellung.diagnoses.shortcuts.verdict import (
    AMPLIFIED,
    AMPLIFIES,
    BASELINE,
    CURED,
    CURES_ALL,
    FRESH,
    MOLE,
    NOT_LEARNED,
    REDUCED,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    WHAC_A_MOLE,
)
from einstellung.report.figures.style import BASELINE_COLOUR, GREY


@dataclass(frozen=True)
class Mark:
    """A marker, its colour, and whether it is filled."""

    marker: str
    colour: str
    filled: bool = True

    @property
    def style(self) -> dict[str, Any]:
        """Keyword arguments for a marker without a line."""
        face = self.colour if self.filled else "white"
        size = 9 if self.marker == "*" else 6
        return {
            "marker": self.marker,
            "color": self.colour,
            "markerfacecolor": face,
            "markersize": size,
            "linestyle": "none",
        }


#: Okabe and Ito's colours, as in all figures.
METHOD_MARKS = {
    BASELINE: Mark("*", BASELINE_COLOUR),
    FRESH: Mark("*", GREY),
    WHAC_A_MOLE: Mark("X", "#D55E00"),
    AMPLIFIES: Mark("v", "#CC79A7"),
    REDUCES_SOME: Mark("^", "#56B4E9"),
    REDUCES_ALL: Mark("o", "#0072B2"),
    CURES_ALL: Mark("D", "#009E73"),
    UNCHANGED: Mark("s", GREY),
    UNDECIDED: Mark("o", GREY, filled=False),
    NOT_LEARNED: Mark("s", GREY, filled=False),
}
GAP_MARKS = {
    None: Mark("*", BASELINE_COLOUR),  # the baseline and the fresh net: not judged
    AMPLIFIED: Mark("<", "#D55E00"),
    MOLE: Mark("<", "#D55E00"),
    REDUCED: Mark(">", "#0072B2"),
    CURED: Mark(">", "#009E73"),
    UNCHANGED: Mark("s", GREY),
    UNDECIDED: Mark("o", GREY, filled=False),
}


def legend_of(names: Iterable[str]) -> list[Line2D]:
    """A handle for every verdict that occurs, in the order of the marks."""
    present = set(names)
    return [Line2D([], [], label=name, **mark.style) for name, mark in METHOD_MARKS.items() if name in present]
