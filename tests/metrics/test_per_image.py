"""The record for the scorecard, and whether the predictions belong to what was scored."""

from __future__ import annotations

import json

import pytest

from einstellung.diagnoses.rigidity.per_image import per_image, per_image_checks, same_checkpoint
from einstellung.diagnoses.rigidity.score import score
from einstellung.timeline import SC_MASK, SC_PATCH, VAL

from .predictions import marked, predictions, split
from .timelines import run, timeline


def of_run(*counts):
    patched, masked = marked(*counts)
    return predictions(split(SC_PATCH, patched), split(SC_MASK, masked))


#: ten images: patched .8 and .6 right, masked .3 and .6
PREDICTIONS = {("sgd", 1): of_run(3, 5, 0, 2), ("sgd", 2): of_run(4, 2, 2, 2)}


def card(patched, **options):
    runs = [run("sgd", seed, [0.1, acc], [0.1, masked], **options) for seed, acc, masked in patched]
    return score(timeline(*runs)).to_dict()


def test_the_record_is_plain_json_by_method_and_seed():
    record = per_image(PREDICTIONS)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["masking"]["sgd"]["1"]["only_patched"] == 5
    own = record["cue_effect"]["sgd"]
    assert (own["SC_patch"]["mean"], own["SC_mask"]["mean"]) == (pytest.approx(0.7), pytest.approx(0.45))
    assert own["per_seed"]["2"]["SC_mask"] == pytest.approx(0.6)
    assert own["pull"] == {"mean": None, "sd": None, "n": 0, "ci95": None, "interval": "none"}


def test_predictions_of_the_scored_checkpoint_agree():
    check = same_checkpoint(PREDICTIONS, card([(1, 0.8, 0.3), (2, 0.6, 0.6)]))
    assert (check.passed, check.detail) == (True, "4 accuracies recomputed from single images agree")


def test_predictions_of_another_checkpoint_are_named():
    with_validation = card([(1, 0.8, 0.3), (2, 0.5, 0.6)], **{VAL: [0.1, 0.2]})
    assert with_validation["final"] == "best-val"
    check = same_checkpoint(PREDICTIONS, with_validation)
    assert check.passed is False
    assert check.detail == "sgd seed 2: SC_patch 0.600, scored 0.500"


def test_where_the_last_epoch_is_scored_they_may_differ():
    check = same_checkpoint(PREDICTIONS, card([(1, 0.8, 0.3), (2, 0.5, 0.6)]))
    assert check.passed is None
    assert "may be of an earlier one" in check.detail


def test_both_checks_are_made_and_a_run_that_was_not_scored_is_left_alone():
    checks = per_image_checks({**PREDICTIONS, ("gpm", 9): of_run(1, 1, 1, 1)}, card([(1, 0.8, 0.3)]))
    assert [check.passed for check in checks] == [True, True]
