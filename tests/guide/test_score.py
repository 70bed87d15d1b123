"""The guide's variant: by hand, at its borders, and against its own formulas in loops."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.guide.card import GuideSettings
from einstellung.guide.score import (
    adaptation_delay,
    band,
    composite_score,
    guide_score,
    performance_deficit,
    shortcut_feature_reliance,
)
from tests.metrics.timelines import rows, run, timeline

unit = st.floats(0, 1)


def test_by_hand():
    """AD 25 epochs of 50, PD (.8 - .6) / .8 = .25, SFR .8 / (.8 + .4) = 2/3: .2 + .1 + .1333."""
    assert performance_deficit(0.8, 0.6) == pytest.approx(0.25)
    assert shortcut_feature_reliance(0.8, 0.4) == pytest.approx(2 / 3)
    assert composite_score(25, 0.25, 2 / 3) == pytest.approx(0.2 + 0.1 + 0.4 / 3)


def test_borders():
    assert performance_deficit(0.0, 0.5) == 0.0
    assert performance_deficit(0.4, 0.5) == 0.0  # masking helps: no deficit
    assert shortcut_feature_reliance(0.0, 0.0) == 0.5
    assert composite_score(80, 0.0, 0.0) == pytest.approx(0.4)  # never more than 50 epochs count
    assert composite_score(None, 0.1, 0.5) is composite_score(1, None, 0.5) is composite_score(1, 0.1, None) is None
    assert adaptation_delay([0, 1, 2], [0.9, 0.5, 0.8 - 1e-12]) == 2.0
    assert adaptation_delay([1, 2], [0.5, 0.79]) is None
    assert [band(s) for s in (None, 0.0, 0.2999, 0.3, 0.6, 0.6001)] == [None, "low", "low", *["moderate"] * 2, "high"]


@given(st.floats(0.5, 60), unit, unit)
def test_the_score_stays_within_zero_and_one_and_grows_with_its_parts(delay, deficit, reliance):
    score = composite_score(delay, deficit, reliance)
    assert 0 <= score <= 1 + 1e-12
    assert composite_score(delay + 1, deficit, reliance) >= score


@given(unit, unit)
def test_parts_stay_within_their_range(patched, other):
    assert 0 <= performance_deficit(patched, other) <= 1
    assert 0 <= shortcut_feature_reliance(patched, other) <= 1
    if patched + other > 1e-3:
        total = shortcut_feature_reliance(patched, other) + shortcut_feature_reliance(other, patched)
        assert total == pytest.approx(1)


def example():
    return timeline(
        rows("sgd", 1, "T1", "T1_all", [0.5, 0.8, 0.7]),
        run("sgd", 1, [0.5, 0.8], [0.5, 0.6], [0.3, 0.4]),
        rows("sgd", 2, "T1", "T1_all", [0.5, 0.65]),
        run("sgd", 2, [0.5, 0.8], [0.5, 0.4], [0.3, 0.8]),
        run("scratch_t2", 1, [0.5, 0.6], [0.5, 0.6]),
    )


def test_a_timeline_by_hand():
    card = guide_score(example()).to_json()
    assert (card["variant"], card["final"]) == ("guide", "last")
    sgd = card["methods"]["sgd"]
    assert sgd["n_seeds"] == 2
    assert sgd["adaptation_delay"] == {"mean": 2.0, "sd": None, "min": 2.0, "max": 2.0, "n": 1}
    assert sgd["performance_deficit"]["mean"] == pytest.approx((0.25 + 0.5) / 2)
    assert (sgd["performance_deficit"]["min"], sgd["performance_deficit"]["max"]) == pytest.approx((0.25, 0.5))
    assert sgd["shortcut_feature_reliance"]["mean"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert sgd["eri_score"]["mean"] == pytest.approx(0.4 * 2 / 50 + 0.4 * 0.25 + 0.2 * 2 / 3)
    assert sgd["band"] == "low"
    assert sgd["why_undefined"] == "seed 2: T1_all never reached 0.8 in T1 (best 0.650)"
    assert sgd["per_seed"]["2"]["eri_score"] is None


@pytest.mark.parametrize(("threshold", "delays"), [(0.5, [1.0, 1.0]), (0.65, [2.0, 2.0]), (0.81, [None, None])])
def test_the_threshold_is_a_setting_and_is_named(threshold, delays):
    """T1_all is 0.5, 0.8, 0.7 and 0.5, 0.65 after the epochs of T1."""
    card = guide_score(example(), GuideSettings(guide_threshold=threshold)).to_json()
    assert card["threshold"] == threshold
    runs = card["methods"]["sgd"]["per_seed"]
    assert [run["adaptation_delay"] for run in runs.values()] == delays
    if None in delays:
        assert runs["1"]["why_undefined"] == f"T1_all never reached {threshold:g} in T1 (best 0.800)"


@pytest.mark.parametrize("threshold", [0, 1.5, float("nan")])
def test_a_threshold_that_is_no_accuracy_is_refused(threshold):
    with pytest.raises(InputError, match=r"score\.guide_threshold is"):
        parse_settings(GuideSettings, {"guide_threshold": threshold}, "guide")


def test_a_run_carries_the_accuracies_behind_its_numbers():
    """The subsets at the final checkpoint, T1 at the end of both phases; None where there is none."""
    table = timeline(
        rows("sgd", 1, "T1", "T1_all", [0.5, 0.8]),
        run("sgd", 1, [0.5, 0.8], [0.5, 0.6], [0.3, 0.4], T1_all=[0.4, 0.1]),
    )
    assert guide_score(table).methods["sgd"].per_seed["1"].accuracies == {
        "T1_all": 0.1,
        "T1_all_after_T1": 0.8,
        "T2_shortcut_normal": 0.8,
        "T2_shortcut_masked": 0.6,
        "T2_nonshortcut_normal": 0.4,
    }
    scratch = guide_score(example()).methods["scratch_t2"].per_seed["1"].accuracies
    assert (scratch["T1_all"], scratch["T1_all_after_T1"], scratch["T2_nonshortcut_normal"]) == (None, None, None)


def test_a_method_without_its_parts_says_why():
    scratch = guide_score(example()).to_json()["methods"]["scratch_t2"]
    assert scratch["eri_score"] == {"mean": None, "sd": None, "min": None, "max": None, "n": 0}
    assert scratch["band"] is None
    assert scratch["why_undefined"] == (
        "seed 1: no T1_all curve in T1 and T2_nonshortcut_normal not measured at the final checkpoint"
    )


def test_it_is_strict_json_with_checks_and_needs_no_baseline():
    card = guide_score(timeline(run("sgd", 1, [0.5], [0.5])), GuideSettings(final="last")).to_json()
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    assert len(card["checks"]) == 8


def test_subsets_at_the_end_only_give_no_delay():
    """T1 looked at once, after epoch 3, and T2 but for validation at the chosen and the last epoch: that is no crossing."""
    t2 = run(
        "sgd", 1, {2: 0.9, 4: 0.8}, {2: 0.5, 4: 0.4}, {2: 0.5, 4: 0.4}, T2_val={0: 0.1, 1: 0.2, 2: 0.9, 3: 0.5, 4: 0.6}
    )
    seen = guide_score(timeline(t2, rows("sgd", 1, "T1", "T1_all", {3: 0.9}))).methods["sgd"].per_seed["1"]
    assert (seen.adaptation_delay, seen.eri_score) == (None, None)
    assert seen.why_undefined == "T1_all was measured only at the end of T1"
    assert seen.performance_deficit == pytest.approx(4 / 9)
    one_epoch = guide_score(timeline(t2, rows("sgd", 1, "T1", "T1_all", {1: 0.9}))).methods["sgd"].per_seed["1"]
    assert one_epoch.adaptation_delay == 1.0  # nothing was missed
