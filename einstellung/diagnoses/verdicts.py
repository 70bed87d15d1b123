"""What every diagnosis says of a method, in one form: a name, how certain it is, and the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Diagnosis


@dataclass(frozen=True)
class MethodVerdict:
    """``pattern`` is None for a method that nothing is said of; ``certainty`` is empty where a diagnosis has no word for it."""

    pattern: str | None
    certainty: str
    sentences: tuple[str, ...]


def method_verdicts(diagnosis: Diagnosis[Any, Any], card: Card) -> dict[str, MethodVerdict]:
    """The verdict on every method of a card, the baseline first."""
    card = card.baseline_first()
    forest = diagnosis.forest(card)
    shown = {row.method: row for row in forest.rows} if forest is not None else {}
    found = {}
    for method, record in card.methods.items():
        verdict, row = getattr(record, "verdict", None), shown.get(method)
        name = row.verdict if row is not None else getattr(verdict, "name", None) or getattr(record, "pattern", None)
        found[method] = MethodVerdict(name, row.certainty if row is not None else "", _sentences(verdict))
    return found


def _sentences(verdict: Any) -> tuple[str, ...]:
    if verdict is None or isinstance(verdict, str):
        return (verdict,) if verdict else ()
    several: tuple[str, ...] = tuple(getattr(verdict, "sentences", ()))
    return several or ((verdict.sentence,) if getattr(verdict, "sentence", "") else ())
