"""What a study would say with other margins: scored in Python for a few stops, so that the page can show them exactly."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.settings import Settings
from einstellung.report.forest import Forest


def margin_stops(own: float, stops: Sequence[float]) -> list[float]:
    """The stops of the slider, the study's own margin among them.

    >>> margin_stops(0.03, [0.01, 0.02, 0.05])
    [0.01, 0.02, 0.03, 0.05]
    """
    return sorted({*stops, own})


def score_command(evidence: Evidence, settings: Settings, chosen: str) -> str:
    """How to score the same runs with another value of one setting, which stands in it as ``VALUE``.

    A study has more evidence than its timeline (its stream's facts, predictions, siblings): its configuration is changed instead.
    """
    if evidence.config is not None:
        return f"in config.yaml, score: {{{chosen}: VALUE}}; then einstellung report FOLDER"
    options = []
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name != chosen and value != field.get_default(call_default_factory=True):
            options += [f"--{name.replace('_', '-')}", shlex.quote(_option(value))]
    return " ".join(["einstellung score", evidence.source, *options, f"--{chosen} VALUE"])


def _option(value: Any) -> str:
    """A setting as the command line takes it: numbers and names by commas, a list for each phase by slashes."""
    if isinstance(value, Mapping):
        return _option(tuple(value.values()))
    if isinstance(value, tuple):
        return ("/" if value and isinstance(value[0], tuple) else ",").join(map(_option, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def margin_data(
    cards: Sequence[tuple[float, Card]],
    own: float,
    *,
    forest: Callable[[Any], Forest],
    answer: Callable[[Any], list[str]],
    command: str,
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
    return {"own": own, "stops": stops, "command": command}
