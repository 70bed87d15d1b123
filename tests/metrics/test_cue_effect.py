"""What the cue does, against shares counted by hand."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.cue_effect import cue_effect, cue_effect_of_runs, macro_accuracy, over_seeds
from einstellung.timeline import NSC, NSC_PATCHED, SC_CLEAN, SC_ELSEWHERE, SC_MASK, SC_PATCH

from .predictions import predictions, split

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
    frame = predictions(
        PATCHED,
        split(SC_ELSEWHERE, [20, 20, 21, 20], SC_LABELS),
        split(SC_MASK, [20, 3, 3, 3], SC_LABELS),
        split(SC_CLEAN, [20, 20, 3, 3], SC_LABELS),
    )
    effect = cue_effect(frame)
    assert effect.accuracy == {"SC_patch": 1.0, "SC_elsewhere": 0.75, "SC_mask": 0.25, "SC_clean": 0.5}
    assert effect.pull is None
    assert effect.value("pull") is None


def test_the_pull_counts_images_called_any_shortcut_class():
    """Before: one of eight (the one called 20). After: 20, 21, 20, 21, 20, 20 and not 5, 30: six of eight."""
    effect = cue_effect(pulled([20, 21, 20, 21, 20, 20, 5, 30]))
    assert effect.value("NSC_called_SC") == 1 / 8
    assert effect.value("NSC_patched_called_SC") == 6 / 8
    assert effect.value("pull") == 5 / 8
    assert (effect.pull.only_without, effect.pull.only_with, effect.pull.n) == (1, 6, 8)
    assert effect.pull.p == pytest.approx(2 * (1 + 7) / 2**7)


def test_a_cue_may_push_away():
    assert cue_effect(pulled([30] * 8)).value("pull") == -1 / 8


def test_absent_splits_are_none_and_without_the_shortcut_split_there_is_nothing():
    effect = cue_effect(predictions(PATCHED))
    assert effect.accuracy == {"SC_patch": 1.0, "SC_elsewhere": None, "SC_mask": None, "SC_clean": None}
    assert effect.to_dict()["pull_test"] is None
    assert cue_effect(predictions(FOREIGN)) is None


def test_other_images_are_not_compared():
    frame = predictions(PATCHED, split(SC_MASK, [20, 20, 21, 21], SC_LABELS, first=900))
    assert cue_effect(frame).accuracy["SC_mask"] is None


def test_holm_runs_over_the_runs_that_have_a_pull_and_seeds_are_summed_up():
    """Runs 1 and 2: six and seven images pulled, one lost; run 3 has no pull. p: 16/128, 18/256."""
    one, two = pulled([20, 21, 20, 21, 20, 20, 5, 30]), pulled([20, 21, 20, 21, 20, 20, 20, 30])
    effects = cue_effect_of_runs({("sgd", 1): one, ("sgd", 2): two, ("sgd", 3): predictions(PATCHED)})
    corrected = [effect.pull.p_holm for effect in list(effects.values())[:2]]
    assert corrected == pytest.approx([2 * 18 / 256, 2 * 18 / 256])
    summary = over_seeds({seed: effect for (_, seed), effect in effects.items()})
    assert (summary["pull"].n, summary["pull"].mean) == (2, pytest.approx((5 / 8 + 6 / 8) / 2))
    assert summary["pull"].sd == pytest.approx(1 / 8 / 2**0.5)
    assert (summary["SC_patch"].n, summary["SC_mask"].n) == (3, 0)
