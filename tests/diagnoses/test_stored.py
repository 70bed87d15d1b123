"""A card that was written can be read again, whatever its kind."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.registry import get_diagnosis, recognise
from einstellung.diagnoses.reporting import score_evidence
from einstellung.diagnoses.stored import card_from_json
from einstellung.errors import InputError
from tests.metrics.timelines import run, timeline

from .confounding import confounded
from .shortcuts import timelines as shortcuts

TIMELINES = {
    "rigidity": timeline(
        *(run("scratch_t2", seed, [0.3, 0.7 + seed / 50], [0.3, 0.5]) for seed in (1, 2, 3)),
        *(run("sgd", seed, [0.7, 0.9 - seed / 50], [0.2, 0.3]) for seed in (1, 2, 3)),
    ),
    "confounding": confounded.study(confounded.three_tasks(), spread=0.01),
    "shortcuts": shortcuts.study(shortcuts.moved(), spread=0.004, twins=True),
}


@pytest.mark.parametrize("kind", TIMELINES)
def test_what_is_read_says_what_was_written(kind):
    evidence = Evidence(TIMELINES[kind])
    scored = score_evidence(recognise(evidence.timeline.splits), evidence, {})
    diagnosis, card = card_from_json(json.loads(json.dumps(scored.to_json())))
    assert diagnosis.name == kind
    assert card == scored.card
    assert card.to_json() == scored.card.to_json()
    assert diagnosis.answer(card) == scored.diagnosis.answer(scored.card)
    assert diagnosis.overview(card) == scored.diagnosis.overview(scored.card)


def test_companions_are_left_out():
    evidence = Evidence(TIMELINES["rigidity"])
    scored = score_evidence(get_diagnosis("rigidity"), evidence, {}, {"guide": {}})
    assert "guide" in scored.to_json()
    assert card_from_json(scored.to_json())[1] == scored.card


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, "names no diagnosis"),
        ({"kind": 3}, "names no diagnosis"),
        ({"kind": "rigidity", "methods": {}}, "not a card of this version"),
        ({"kind": "none such"}, "none such"),
    ],
)
def test_what_is_no_card_has_a_reason_in_one_line(values, reason):
    with pytest.raises(InputError, match=reason) as raised:
        card_from_json(values)
    assert "\n" not in str(raised.value)
