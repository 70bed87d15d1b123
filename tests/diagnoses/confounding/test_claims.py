"""The paper's findings, held against cards."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.claims import claims_table

from .confounded import card_of, figure_6_ends, joint_ends, study

EVERY_METHOD = "every method that learns the tasks, joint training included, is confounded"


@pytest.mark.parametrize(
    ("joint", "holds", "words"),
    [
        (joint_ends(1.0, 0.5), "yes", "confounded: naive, er, cumulative and joint"),
        (joint_ends(1.0, 0.97), "no", "not confounded: joint; confounded: naive, er and cumulative"),
        (joint_ends(1.0, 0.9), "open", "undecided: joint"),
        (joint_ends(0.6, 0.5), "open", "tasks not learned: joint"),
        ({}, "open", "confounded: naive, er and cumulative; joint was not run"),
    ],
)
def test_whether_every_method_is_confounded_is_open_without_a_verdict_on_joint(joint, holds, words):
    card = card_of(study(figure_6_ends() | joint, seeds=(1,)), variant="disjoint")
    row = next(row for row in claims_table({"x": card}).rows if row[1].text == EVERY_METHOD)
    assert row[3].text == holds
    assert words in row[2].text


def test_claims_are_of_a_variant_and_a_model(card):
    rows = claims_table({"strict": card}).rows
    assert {row[1].text for row in rows} == {
        "joint training finds the ground truth",
        "replay does not keep old tasks",
        "with replay, unconfounded images stay near chance",
        "cumulative training stays far below joint training",
        "cumulative training overfits more than joint training",
    }
    nesy = card.model_copy(update={"model": "NeSy"})
    assert len(claims_table({"strict": nesy}).rows) == 3
    assert claims_table({"log": card.model_copy(update={"variant": None})}).rows == ()
