"""The card: what its JSON looks like, and the schema that says so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from einstellung.diagnoses.shortcuts.card import ShortcutsCard
from einstellung.diagnoses.shortcuts.score import score_shortcuts

from .reports import CORRELATIONS, odd_timelines
from .timelines import BOTH, CUES, PAPERLIKE, SWITCH, moved, study

SCHEMA = Draft202012Validator(ShortcutsCard.json_schema())


@pytest.mark.parametrize(
    "card",
    [
        score_shortcuts(study(PAPERLIKE), **BOTH),
        score_shortcuts(study(PAPERLIKE, twins=True, spread=0.004), **BOTH),
        score_shortcuts(study(moved()), cues=CUES, correlations=SWITCH),
    ],
)
def test_the_json_is_what_the_schema_says(card):
    stored = json.loads(json.dumps(card.to_json(), allow_nan=False))
    SCHEMA.validate(stored)
    assert (stored["kind"], stored["schema_version"]) == ("shortcuts", 2)
    with pytest.raises(Exception, match="'margin' is a required property"):
        SCHEMA.validate({key: value for key, value in stored.items() if key != "margin"})


@settings(max_examples=15, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_so_is_that_of_every_valid_timeline(timeline, correlations):
    SCHEMA.validate(json.loads(json.dumps(score_shortcuts(timeline, cues=CUES, correlations=correlations).to_json())))


def test_keys_that_programs_read_keep_their_names():
    stored = score_shortcuts(study(moved()), cues=CUES, correlations=SWITCH).to_json()
    assert stored["told_some"] == {}
    record = stored["methods"]["lle"]
    (move,) = record["trade"]["between_phases"]
    assert (move["from"], move["to"]) == ("T1", "T2")
    assert set(record["verdict"]["cues"]["background"]) == {"name", "by", "p_holm", "why"}
    assert stored["basis"]["background"] == {
        "by": "main effects",
        "why": "no twins of background (background_common, background_swapped) were measured",
    }
    judged = record["phases"]["T2"]["judged"]["background"]
    assert set(judged) == {"by", "loss", "difference", "ceiling"}
    assert {"p", "p_unchanged", "images95"} < set(judged["difference"])
    (carried,) = record["carry_over"]
    assert set(carried["judged"]) == {"by", "left", "before", "minus_fresh", "p", "p_holm"}
    assert {"by", "certain", "p", "p_holm"} < set(move["judged"]["background -> co-object"])
    assert {"chosen_epoch", "A11", "background gap", "worst_group"} <= set(record["per_seed"]["1"])
    own = record["phases"]["T2"]["own"]
    assert set(own["gaps"]["background"]) == {"mean", "sd", "n", "ci95", "interval", "images95"}
    assert set(own["difference"]["background"]) == {"mean", "sd", "n", "ci95", "interval", "images95", "p"}
    assert set(own["amplification"]["background"]) == {"value", "n", "ci95", "interval", "per_seed"}


def test_a_card_does_not_change():
    card = score_shortcuts(study(PAPERLIKE), **BOTH)
    with pytest.raises(ValidationError, match="frozen"):
        card.margin = 0.5
