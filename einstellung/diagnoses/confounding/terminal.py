"""A card of confounded tasks as lines of plain text: one row per method, then the verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.confounding.answer import judged_against
from einstellung.diagnoses.confounding.tables import column_value, columns_of, per_cent
from einstellung.report.measured import seeds_in_words

_HEADS = {"unconfounded": "unconf."}


def confounding_in_words(card: Mapping[str, Any]) -> list[str]:
    """The columns of the paper's Table 1 with the verdicts, what they were judged against, and a sentence for every method."""
    columns = columns_of(card)
    rows = [["method", *(_HEADS.get(column, column) for column in columns), "verdict"]]
    for method, record in card["methods"].items():
        cells = [per_cent(column_value(record, column), spread=False) for column in columns]
        rows.append([method, *cells, record["verdict"]["name"]])
    last = card["tasks"][-1]
    old = f"; T1@{last}: at the end" if len(card["tasks"]) > 1 else ""
    legend = f"Accuracy in per cent, mean over seeds; {seeds_in_words(card)}. T1, ...: right after it was learned{old}."
    lines = [*aligned(rows), "", legend, judged_against(card)]
    for method, record in card["methods"].items():
        lines += ["", f"{method}: {record['verdict']['sentence']}"]
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of words and numbers as lines: the first and the last column to the left, the others to the right.

    >>> aligned([["method", "T1", "verdict"], ["er", "99.6", "confounded"]])
    ['method    T1  verdict', 'er      99.6  confounded']
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        middle = "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:-1], strict=True))
        lines.append(f"{row[0]:<{widths[0]}}{middle}  {row[-1]}")
    return lines
