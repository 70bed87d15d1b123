"""Single images: McNemar's counts and the effect of the cue by hand, and whether predictions belong to what was scored."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.diagnoses.rigidity.images import (
    PLACEMENTS,
    cue_effect,
    cue_effect_of_runs,
    macro_accuracy,
    masking,
    masking_of_runs,
    over_seeds,
    per_image,
    per_image_checks,
    same_checkpoint,
    same_images,
)
from einstellung.diagnoses.rigidity.score import score
from einstellung.metrics.image_pairs import paired
from einstellung.timeline import NSC, NSC_PATCHED, SC_CLEAN, SC_ELSEWHERE, SC_MASK, SC_PATCH, VAL
from tests.metrics.predictions import marked, predictions, split
from tests.metrics.timelines import run, timeline


def of_run(*counts):
    patched, masked = marked(*counts)
    return predictions(split(SC_PATCH, patched), split(SC_MASK, masked))


#: ten images: patched .8 and .6 right, masked .3 and .6
PREDICTIONS = {("sgd", 1): of_run(3, 5, 0, 2), ("sgd", 2): of_run(4, 2, 2, 2)}


def card(patched, **options):
    runs = [run("sgd", seed, [0.1, acc], [0.1, masked], **options) for seed, acc, masked in patched]
    return score(timeline(*runs))


def test_the_record_is_plain_json_by_method_and_seed():
    record = per_image(PREDICTIONS).model_dump(mode="json")
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["masking"]["sgd"]["1"]["only_patched"] == 5
    own = record["cue_effect"]["sgd"]
    assert (own["SC_patch"]["mean"], own["SC_mask"]["mean"]) == (pytest.approx(0.7), pytest.approx(0.45))
    assert own["per_seed"]["2"]["SC_mask"] == pytest.approx(0.6)
    assert own["pull"] == {"mean": None, "sd": None, "n": 0, "ci95": None, "interval": "none"}


def test_predictions_of_the_scored_checkpoint_agree():
    check = same_checkpoint(per_image(PREDICTIONS), card([(1, 0.8, 0.3), (2, 0.6, 0.6)]))
    assert (check.passed, check.detail) == (True, "4 accuracies recomputed from per-image predictions agree")


def test_predictions_of_another_checkpoint_are_named():
    with_validation = card([(1, 0.8, 0.3), (2, 0.5, 0.6)], **{VAL: [0.1, 0.2]})
    assert with_validation.final == "best-val"
    check = same_checkpoint(per_image(PREDICTIONS), with_validation)
    assert check.passed is False
    assert check.detail == "sgd seed 2: SC_patch 0.600, scored 0.500"


def test_where_the_last_epoch_is_scored_they_may_differ():
    check = same_checkpoint(per_image(PREDICTIONS), card([(1, 0.8, 0.3), (2, 0.5, 0.6)]))
    assert check.passed is None
    assert "may be from an earlier one" in check.detail


def test_both_checks_are_made_and_a_run_that_was_not_scored_is_left_alone():
    predicted = {**PREDICTIONS, ("gpm", 9): of_run(1, 1, 1, 1)}
    checks = per_image_checks(predicted, per_image(predicted), card([(1, 0.8, 0.3)]))
    assert [check.passed for check in checks] == [True, True]


@pytest.mark.parametrize(
    ("masked", "message"),
    [
        (
            split(SC_MASK, [0, 0, 0], first=101),
            "do not contain the same images (3 and 3, 2 in only one of them, e.g. image 100)",
        ),
        (split(SC_MASK, [0, 0]), "do not contain the same images (3 and 2, 1 in only one of them, e.g. image 102)"),
        (split(SC_MASK, [0, 0]) + split(SC_MASK, [0]), "T2_shortcut_masked contains image 100 twice"),
        (split(SC_MASK, [0, 0, 0], [0, 3, 0]), "image 101 has one label in T2_shortcut_normal and another in"),
    ],
)
def test_what_is_no_pair_is_named_with_its_run(masked, message):
    frame = predictions(split(SC_PATCH, [0, 0, 0]), masked)
    check = same_images({("sgd", 1): of_run(1, 1, 0, 0), ("sgd", 2): frame})
    assert check.passed is False
    assert "sgd seed 2: " in check.detail
    assert message in check.detail
    assert "sgd seed 1" not in check.detail


def test_the_check_counts_pairs_and_knows_when_there_are_none():
    nonshortcut = split(NSC, [5], 5, first=7) + split(NSC_PATCHED, [0], 5, first=7)
    both = {**of_run(1, 1, 0, 0), **predictions(nonshortcut)}
    assert same_images({("sgd", 1): both}).detail.startswith("2 pairs of splits in 1 runs")
    assert same_images({("sgd", 1): predictions(split(SC_PATCH, [0]))}).passed is None


def test_counts_and_p_by_hand():
    """b = 7, c = 1: p = 2 (C(8,0) + C(8,1)) / 2**8 = 18 / 256."""
    found = masking(paired(of_run(3, 7, 1, 4), SC_PATCH, SC_MASK))
    assert (found.n, found.both_right, found.only_patched, found.only_masked, found.both_wrong) == (15, 3, 7, 1, 4)
    assert found.p == pytest.approx(18 / 256)


@given(st.tuples(*[st.integers(0, 12)] * 4).filter(any))
def test_p_is_twice_the_smaller_binomial_tail(counts):
    _, first, second, _ = counts
    found = masking(paired(of_run(*counts), SC_PATCH, SC_MASK))
    tail = sum(comb(first + second, k) for k in range(min(first, second) + 1)) / 2 ** (first + second)
    assert found.p == pytest.approx(min(1.0, 2 * tail))
    assert (found.both_right, found.only_patched, found.only_masked, found.both_wrong) == counts
    assert found.n == sum(counts)


def test_holm_runs_over_all_methods_and_seeds():
    """p = 2/2**5, 2/2**6, 2/2**8 times 3 (smallest first), 2, 1, never falling."""
    runs = {("a", 1): of_run(0, 5, 0, 0), ("a", 2): of_run(0, 6, 0, 0), ("b", 1): of_run(0, 8, 0, 0)}
    found = masking_of_runs({**runs, ("b", 2): predictions(split(SC_PATCH, [0]))})
    assert list(found) == list(runs)
    assert [counts.p for counts in found.values()] == pytest.approx([1 / 16, 1 / 32, 1 / 128])
    assert [counts.p_holm for counts in found.values()] == pytest.approx([1 / 16, 1 / 16, 3 / 128])


def test_numbers_are_plain_ones():
    values = asdict(masking(paired(of_run(1, 2, 3, 4), SC_PATCH, SC_MASK))).values()
    assert not any(isinstance(value, np.generic) for value in values)


SC_LABELS = [20, 20, 21, 21]  # the shortcut classes are 20 and 21
NSC_LABELS = [30] * 8
PATCHED = split(SC_PATCH, [20, 20, 21, 21], SC_LABELS)
FOREIGN = split(NSC, [30, 30, 30, 30, 30, 30, 5, 20], NSC_LABELS, first=500)


def pulled(said):
    return predictions(PATCHED, FOREIGN, split(NSC_PATCHED, said, NSC_LABELS, first=500))


def test_accuracy_weighs_classes_not_images():
    assert macro_accuracy([0, 0, 0, 1], [0, 0, 0, 0]) == 0.5
    assert macro_accuracy([0, 1, 1, 1], [1, 1, 1, 0]) == pytest.approx((0 + 2 / 3) / 2)


def test_the_same_images_with_the_cue_in_four_conditions():
    assert PLACEMENTS == ("SC_patch", "SC_elsewhere", "SC_mask", "SC_clean")
    frame = predictions(
        PATCHED,
        split(SC_ELSEWHERE, [20, 20, 21, 20], SC_LABELS),
        split(SC_MASK, [20, 3, 3, 3], SC_LABELS),
        split(SC_CLEAN, [20, 20, 3, 3], SC_LABELS),
    )
    effect = cue_effect(frame)
    assert {key: effect.value(key) for key in PLACEMENTS} == {
        "SC_patch": 1.0,
        "SC_elsewhere": 0.75,
        "SC_mask": 0.25,
        "SC_clean": 0.5,
    }
    assert effect.pull_test is None
    assert effect.value("pull") is None


def test_the_pull_counts_images_called_any_shortcut_class():
    """Before: one of eight (the one called 20). After: 20, 21, 20, 21, 20, 20 and not 5, 30: six of eight."""
    effect = cue_effect(pulled([20, 21, 20, 21, 20, 20, 5, 30]))
    assert effect.value("NSC_called_SC") == 1 / 8
    assert effect.value("NSC_patched_called_SC") == 6 / 8
    assert effect.value("pull") == 5 / 8
    assert (effect.pull_test.only_without, effect.pull_test.only_with, effect.pull_test.n) == (1, 6, 8)
    assert effect.pull_test.p == pytest.approx(2 * (1 + 7) / 2**7)


def test_a_cue_may_push_away():
    assert cue_effect(pulled([30] * 8)).value("pull") == -1 / 8


def test_absent_splits_are_none_and_without_the_shortcut_split_there_is_nothing():
    effect = cue_effect(predictions(PATCHED))
    assert {key: effect.value(key) for key in PLACEMENTS} == {
        "SC_patch": 1.0,
        "SC_elsewhere": None,
        "SC_mask": None,
        "SC_clean": None,
    }
    assert effect.pull_test is None
    assert cue_effect(predictions(FOREIGN)) is None


def test_other_images_are_not_compared():
    frame = predictions(PATCHED, split(SC_MASK, [20, 20, 21, 21], SC_LABELS, first=900))
    assert cue_effect(frame).SC_mask is None


def test_holm_runs_over_the_runs_that_have_a_pull_and_seeds_are_summed_up():
    """Runs 1 and 2: six and seven images pulled, one lost; run 3 has no pull. p: 16/128, 18/256."""
    one, two = pulled([20, 21, 20, 21, 20, 20, 5, 30]), pulled([20, 21, 20, 21, 20, 20, 20, 30])
    effects = cue_effect_of_runs({("sgd", 1): one, ("sgd", 2): two, ("sgd", 3): predictions(PATCHED)})
    corrected = [effect.pull_test.p_holm for effect in list(effects.values())[:2]]
    assert corrected == pytest.approx([2 * 18 / 256, 2 * 18 / 256])
    summary = over_seeds({seed: effect for (_, seed), effect in effects.items()})
    assert (summary.pull.n, summary.pull.mean) == (2, pytest.approx((5 / 8 + 6 / 8) / 2))
    assert summary.pull.sd == pytest.approx(1 / 8 / 2**0.5)
    assert (summary.SC_patch.n, summary.SC_mask.n) == (3, 0)
