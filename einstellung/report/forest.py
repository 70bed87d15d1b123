"""The first screen's numbers: every method with its verdict, how sure that is, and a few facets with their intervals.

A diagnosis fills a :class:`Forest`; the page shows it as a forest plot and as a table that sorts and filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from einstellung.report.colours import page_colours
from einstellung.report.figures.style import MethodStyle

_MARKS = {"o": "circle", "s": "square", "^": "up", "D": "diamond", "v": "down", "P": "plus", "X": "cross", "*": "star"}


@dataclass(frozen=True)
class ForestColumn:
    """A facet: its head, what it means, and the band around ``centre`` within which it does not count.

    ``below`` and ``above`` say what a value left and right of the centre means. ``digits``: of the values on its axis.
    ``plotted``: whether the forest plot has a panel for it, or only the table a column.
    """

    key: str
    head: str
    meaning: str
    below: str = ""
    above: str = ""
    centre: float | None = 0.0
    margin: float | None = None
    digits: int = 2
    plotted: bool = True


@dataclass(frozen=True)
class ForestValue:
    """A mean over seeds with its interval, as numbers and as text. ``why``: the reason for a mean that is undefined.

    ``reference``: a value of the baseline to show beside it. ``note``: how many seeds it rests on, where that is not all.
    """

    mean: float | None
    low: float | None = None
    high: float | None = None
    text: str = ""
    interval: str = ""
    why: str | None = None
    reference: float | None = None
    note: str = ""


@dataclass(frozen=True)
class ForestRow:
    """One method. ``tone``: the class of the verdict's pill, empty for what is not certain; ``anchor``: the id of its card."""

    method: str
    verdict: str
    tone: str
    certainty: str
    values: Mapping[str, ForestValue]
    seeds: int
    is_baseline: bool = False
    anchor: str | None = None


@dataclass(frozen=True)
class Forest:
    """All methods of a study; ``caption`` says what the intervals are and what is shaded."""

    columns: Sequence[ForestColumn]
    rows: Sequence[ForestRow]
    caption: str
    styles: Mapping[str, MethodStyle] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values for the page's script."""
        return {
            "columns": [asdict(column) for column in self.columns],
            "rows": [asdict(row) for row in self.rows],
            "styles": page_styles(self.styles),
        }


def page_styles(styles: Mapping[str, MethodStyle]) -> dict[str, dict[str, Any]]:
    """How the page draws every method: a colour for either ground, the shape of its mark and the dashes of its line.

    >>> page_styles({"sgd": MethodStyle("#0072B2", (0, (5, 1.5)), "s")})
    {'sgd': {'light': '#0072B2', 'dark': '#0072B2', 'mark': 'square', 'dash': [5, 1.5]}}
    """
    colours = page_colours(styles)
    return {
        method: {
            "light": colours[method][0],
            "dark": colours[method][1],
            "mark": _MARKS[style.marker],
            "dash": [] if style.dash == "-" else list(style.dash[1]),
        }
        for method, style in styles.items()
    }
