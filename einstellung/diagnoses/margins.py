"""What a study would say with other margins: scored in Python for a few stops, so that the page can show them exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.report.forest import Forest


def margin_stops(own: float, stops: Sequence[float]) -> list[float]:
    """The stops of the slider, the study's own margin among them.

    >>> margin_stops(0.03, [0.01, 0.02, 0.05])
    [0.01, 0.02, 0.03, 0.05]
    """
    return sorted({*stops, own})


def margin_data(
    cards: Sequence[tuple[float, Card]],
    own: float,
    *,
    forest: Callable[[Any], Forest],
    answer: Callable[[Any], list[str]],
    command: Sequence[str],
) -> dict[str, Any]:
    """For every margin its answer and, by method, verdict, tone, certainty and the sentence behind them."""
    stops = []
    for margin, card in cards:
        made = forest(card)
        stops.append(
            {
                "margin": margin,
                "answer": answer(card),
                "columns": {column.key: column.margin for column in made.columns},
                "rows": {
                    row.method: [row.verdict, row.tone, row.certainty, card.methods[row.method].verdict.sentence]
                    for row in made.rows
                },
            }
        )
    return {"own": own, "stops": stops, "command": list(command)}
