"""The result of a diagnosis: a typed, versioned card, converted to JSON only when it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from einstellung.checks import Check
from einstellung.hashes import SEAL


class CardPart(BaseModel):
    """A part of a card: fixed fields, never changed after it was made."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=False)


class MethodRecord(CardPart):
    """What is said of one method; a kind adds its own fields."""

    n_seeds: int


class Card(CardPart):
    """What every kind of card has. A kind narrows ``methods`` to its own records.

    ``kind`` is the diagnosis' name, ``schema_version`` rises whenever a field changes its meaning or goes.
    """

    kind: str
    schema_version: int
    baseline: str
    methods: Mapping[str, Any]
    checks: tuple[Check, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for strict JSON: undefined is null."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema that ``score.json`` validates against; the file also holds a hash of the card."""
        schema = cls.model_json_schema(mode="serialization", by_alias=True)
        schema["properties"][SEAL] = {"type": "string", "description": "A hash of the other values."}
        return schema

    @property
    def has_baseline(self) -> bool:
        return self.baseline in self.methods

    @property
    def compared(self) -> list[str]:
        """The methods that are compared with the baseline, in the card's order."""
        return [method for method in self.methods if method != self.baseline]

    @property
    def fewest_seeds(self) -> int:
        """The smallest number of seeds that any method has."""
        return min((record.n_seeds for record in self.methods.values()), default=0)

    def with_methods_in_order(self, first: list[str]) -> Self:
        """The same card with these methods first, in this order, where it has them."""
        methods = {name: self.methods[name] for name in first if name in self.methods}
        return self.model_copy(update={"methods": {**methods, **self.methods}})

    def baseline_first(self) -> Self:
        """The same card with the baseline before the methods that are compared with it."""
        return self.with_methods_in_order([self.baseline])
