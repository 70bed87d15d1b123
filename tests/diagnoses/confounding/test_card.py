"""The card as JSON: valid by its own schema, whole, and readable again."""

from __future__ import annotations

import json

import jsonschema
import pytest
from pydantic import ValidationError

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.score import score_tasks

from .confounded import both, study

KEYS = {
    *("kind", "variant", "model", "ground_truth", "confounders", "tasks", "baseline", "tau", "window", "smoothing"),
    *(
        "margin",
        "level",
        "chance",
        "final",
        "methods",
        "checks",
        "warnings",
        "ceiling",
        "sees",
        "perceived",
        "reported",
    ),
}


def test_score_json_validates_against_the_schema(written):
    stored = json.loads((written.folder / "score.json").read_text())
    schema = ConfoundingCard.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(stored, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**stored, "kind": "rigidity"}, schema)


def test_a_bare_card_validates_too():
    bare = score_tasks(study({"naive": {"T1": both(T1=0.9)}}, seeds=(1,)))
    jsonschema.validate(bare.to_json(), ConfoundingCard.json_schema())


def test_the_keys_of_score_json_stay(card):
    stored = card.to_json()
    assert set(stored) == {*KEYS, "schema_version", "ceiling_key", "order"}
    assert (stored["kind"], stored["schema_version"], stored["final"]) == ("confounding", 1, "last")


def test_a_card_is_read_again_from_its_json(card):
    assert ConfoundingCard.model_validate(json.loads(json.dumps(card.to_json()))).to_json() == card.to_json()


def test_a_card_does_not_change(card):
    with pytest.raises(ValidationError):
        card.margin = 0.2
