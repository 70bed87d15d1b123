"""Cards that were written as ``score.json``, read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from einstellung.diagnoses.card import Card
from einstellung.diagnoses.contract import Diagnosis
from einstellung.diagnoses.registry import get_diagnosis
from einstellung.errors import InputError


def card_from_json(values: Mapping[str, Any]) -> tuple[Diagnosis[Any, Any], Card]:
    """The card in a ``score.json`` and the diagnosis that made it; its companions' cards are left out."""
    kind = values.get("kind")
    if not isinstance(kind, str):
        raise InputError("score.json names no diagnosis: rewrite it with 'einstellung report'")
    diagnosis = get_diagnosis(kind)
    own = {key: value for key, value in values.items() if not _is_companion(key, value)}
    try:
        card: Card = diagnosis.Card.model_validate(own)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"score.json is not a card of this version ({where}: {first['msg']}): rewrite it with 'einstellung report'"
        ) from None
    return diagnosis, card


def _is_companion(key: str, value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == key
