"""What every card has: fixed fields, an order of methods, JSON and its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import jsonschema
import pytest
from pydantic import ValidationError

from einstellung.checks import Check
from einstellung.diagnoses.card import Card, MethodRecord
from einstellung.metrics.statistics import Summary, summarise


class ToyRecord(MethodRecord):
    accuracy: Summary


class ToyCard(Card):
    kind: Literal["toy"] = "toy"
    schema_version: int = 1
    methods: Mapping[str, ToyRecord]


def record(*values):
    return ToyRecord(n_seeds=len(values), accuracy=summarise(values))


@pytest.fixture
def card():
    return ToyCard(
        baseline="b",
        methods={"a": record(0.1, 0.3), "b": record(0.5), "c": record(None, 0.2, 0.3)},
        checks=(Check("a check", None, "not measured"),),
        warnings=("a warning",),
    )


def test_methods_are_put_in_order_and_none_is_lost(card):
    assert list(card.baseline_first().methods) == ["b", "a", "c"]
    assert list(card.with_methods_in_order(["c", "unknown", "b"]).methods) == ["c", "b", "a"]
    assert list(card.methods) == ["a", "b", "c"]


def test_who_is_compared_and_by_how_many_seeds(card):
    assert (card.has_baseline, card.compared, card.fewest_seeds) == (True, ["a", "c"], 1)
    empty = ToyCard(baseline="b", methods={})
    assert (empty.has_baseline, empty.compared, empty.fewest_seeds) == (False, [], 0)


def test_json_is_plain_and_validates(card):
    stored = card.to_json()
    assert stored["methods"]["b"] == {
        "n_seeds": 1,
        "accuracy": {"mean": 0.5, "sd": None, "n": 1, "ci95": None, "interval": "n = 1: no interval"},
    }
    assert isinstance(stored["methods"]["a"]["accuracy"]["ci95"], list)
    assert stored["checks"] == [{"name": "a check", "passed": None, "detail": "not measured"}]
    jsonschema.validate(stored, ToyCard.json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**stored, "baseline": None}, ToyCard.json_schema())


def test_a_card_is_fixed_and_knows_its_fields(card):
    with pytest.raises(ValidationError):
        card.baseline = "a"
    with pytest.raises(ValidationError):
        ToyCard(baseline="b", methods={}, unheard_of=1)
