"""The gate's page, and the fragment that a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from einstellung.gating.result import GateResult, Interval
from einstellung.gating.tables import comparison, detail_tables
from einstellung.gating.verdict import RELIANCE, bracket, rigidity_words
from einstellung.report.notation import number
from einstellung.report.page import render_template
from einstellung.report.tables import Table

_PILLS = {"pass": "passed-pill", "fail": "failed-pill", "inconclusive": "shared-shortcut"}
_TITLES = {"pass": "The update passes", "fail": "The update fails", "inconclusive": "Not enough data to decide"}
_SLICES_DRAWN = 8
_COLOURS = {"pass": "#0b6b4a", "fail": "#b3261e", "inconclusive": "#8a4b00"}


@dataclass(frozen=True)
class Bar:
    """An interval on the plot, in per cent of its width. ``kind``: what a row is about, for its colour."""

    name: str
    text: str
    low: float
    high: float
    at: float
    kind: str


@dataclass(frozen=True)
class Plot:
    """Rises with their intervals on a common scale; ``zero`` and ``limit`` are places in per cent."""

    bars: tuple[Bar, ...]
    zero: float
    limit: float
    ends: tuple[str, str]


def plot(result: GateResult) -> Plot:
    """The rise over all examples, then of the groups and classes with the highest."""
    rows = [("all examples", result.rise, result.ci95, str(result.checks[RELIANCE]))]
    for kind, slices in result.groups.items():
        if len(slices.rows) > 1:
            word = "class" if kind == "label" else "group"
            rows += [(f"{word} {one.name}", one.rise, one.ci95, "slice") for one in slices.rows[:_SLICES_DRAWN]]
    ends = [value for _, _, ci95, _ in rows for value in ci95] + [0.0, result.limits.max_delta]
    margin = 0.04 * (max(ends) - min(ends))
    low, high = max(-2.0, min(ends) - margin), min(2.0, max(ends) + margin)

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    def bar(name: str, rise: float, ci95: Interval, kind: str) -> Bar:
        text = f"{number(rise, signed=True)} {bracket(ci95)}"
        return Bar(name, text, place(ci95[0]), place(ci95[1]), place(rise), kind)

    return Plot(
        tuple(bar(*row) for row in rows),
        place(0.0),
        place(result.limits.max_delta),
        (number(low, digits=2, signed=True), number(high, digits=2, signed=True)),
    )


def render(result: GateResult) -> str:
    """The page as one HTML file."""
    return render_template(
        Path(__file__).with_name("page.html"),
        title=_TITLES[result.verdict],
        result=result,
        pill=_PILLS[result.verdict],
        said=result.summary.partition(": ")[2],
        rigidity=rigidity_words(result.baseline) if result.baseline is not None else None,
        plot=plot(result),
        main=comparison(result),
        details=detail_tables(result),
    )


def fragment(result: GateResult) -> str:
    """For notebooks: the verdict and the table, with styles of its own and nothing from elsewhere."""
    return "".join(_fragment(result))


def _fragment(result: GateResult) -> Iterator[str]:
    colour = _COLOURS[result.verdict]
    yield f'<div style="max-width:60rem"><p><b style="color:#fff;background:{colour};padding:.1em .6em;border-radius:1em">'
    yield f"{result.verdict}</b> {escape(result.summary.partition(': ')[2])}.</p>"
    if result.baseline is not None:
        yield f"<p>{escape(rigidity_words(result.baseline))}</p>"
    yield _html_table(comparison(result))
    if result.warnings:
        yield "<ul>" + "".join(f"<li>{escape(warning)}</li>" for warning in result.warnings) + "</ul>"
    for table in detail_tables(result).values():
        yield f"<details><summary>{escape(table.title)}</summary>{_html_table(table)}</details>"
    yield "</div>"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.head)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{' style=text-align:left' * (not place)}>{escape(cell.text)}</td>" for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f'<p style="font-size:smaller;opacity:.75">{escape(table.note)}</p>'
    return (
        f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}'
    )
