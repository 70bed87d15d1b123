"""The guide's calculator: its numbers by hand, what it refuses, statistics over experiments."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from statistics import stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.guide import EinstellungMetricsCalculator, calculate_cross_experiment_eri_statistics

unit = st.floats(0, 1)


def calculator(threshold=0.8, t1=(0.5, 0.82, 0.9), patched=0.8, masked=0.6, nonshortcut=0.4):
    made = EinstellungMetricsCalculator(adaptation_threshold=threshold)
    for epoch, acc in enumerate(t1, start=1):
        made.add_timeline_data(epoch, 0, {"T1_all": acc}, {"T1_all": 1.5})
    subsets = {"T2_shortcut_normal": patched, "T2_shortcut_masked": masked, "T2_nonshortcut_normal": nonshortcut}
    made.add_timeline_data(epoch=0, task_id=1, subset_accuracies={"T1_all": 0.9})
    made.add_timeline_data(epoch=2, task_id=1, subset_accuracies={**subsets, "T1_all": 0.1})
    return made


def test_by_hand():
    """0.8 first after epoch 2: .4 * 2 / 50; deficit .2 / .8; reliance .8 / 1.2."""
    metrics = calculator().calculate_comprehensive_metrics()
    assert metrics.adaptation_delay == 2.0
    assert metrics.performance_deficit == pytest.approx(0.25)
    assert metrics.shortcut_feature_reliance == pytest.approx(2 / 3)
    assert metrics.eri_score == pytest.approx(0.016 + 0.1 + 0.4 / 3)
    assert (metrics.band, metrics.checkpoint_epoch, metrics.why_undefined) == ("low", 2.0, None)
    assert metrics.accuracies == {
        "T1_all": 0.1,
        "T1_all_after_T1": 0.9,
        "T2_shortcut_normal": 0.8,
        "T2_shortcut_masked": 0.6,
        "T2_nonshortcut_normal": 0.4,
    }


def test_the_threshold_decides_the_delay_and_is_named():
    """The same curve: 0.5 after one epoch, 0.9 after three, never 0.95; the threshold stands in numbers and reasons."""
    delays = [
        calculator(threshold).calculate_comprehensive_metrics().adaptation_delay for threshold in (0.5, 0.9, 0.95)
    ]
    assert delays == [1.0, 3.0, None]
    metrics = calculator(0.95).calculate_comprehensive_metrics()
    assert (metrics.eri_score, metrics.band, metrics.adaptation_threshold) == (None, None, 0.95)
    assert metrics.why_undefined == "T1_all never reached 0.95 in T1 (best 0.900)"
    assert json.loads(json.dumps(metrics.to_dict(), allow_nan=False))["adaptation_threshold"] == 0.95


@settings(max_examples=25, deadline=None)
@given(unit, unit, unit, st.lists(unit, min_size=1, max_size=4))
def test_any_run_follows_the_formulas(patched, masked, nonshortcut, t1):
    metrics = calculator(0.7, t1, patched, masked, nonshortcut).calculate_comprehensive_metrics()
    delay = next((epoch for epoch, acc in enumerate(t1, start=1) if acc >= 0.7 - 1e-9), None)
    deficit = max(0.0, (patched - masked) / patched) if patched else 0.0
    reliance = patched / (patched + nonshortcut) if patched + nonshortcut else 0.5
    assert metrics.adaptation_delay == delay
    assert metrics.performance_deficit == pytest.approx(deficit)
    assert metrics.shortcut_feature_reliance == pytest.approx(reliance)
    if delay is None:
        assert metrics.eri_score is None
        assert "never reached 0.7" in metrics.why_undefined
    else:
        assert metrics.eri_score == pytest.approx(0.4 * delay / 50 + 0.4 * deficit + 0.2 * reliance)


def test_a_validation_subset_chooses_the_checkpoint():
    made = EinstellungMetricsCalculator()
    for epoch, (acc, validation) in enumerate([(0.9, 0.8), (0.5, 0.7)], start=1):
        both = {"T2_shortcut_normal": acc, "T2_shortcut_masked": acc / 3, "T2_val": validation}
        made.add_timeline_data(epoch, 1, both)
    metrics = made.calculate_comprehensive_metrics()
    assert (metrics.checkpoint_epoch, metrics.accuracies["T2_shortcut_normal"]) == (1.0, 0.9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"subset_accuracies": {"T1_all": 85.0}}, "'T1_all' is 85.0, which is outside 0..1; per cent?"),
        ({"subset_accuracies": {"T1_all": float("nan")}}, "'T1_all' is nan, which is outside"),
        ({"subset_accuracies": {"T2_shortcut_norml": 0.5}}, "did you mean 'T2_shortcut_normal'"),
        ({"subset_accuracies": {}}, "no accuracies were given"),
        ({"subset_losses": {"T1_al": 1.0}}, "did you mean 'T1_all'"),
        ({"subset_losses": {"T2_val": 1.0}}, "'T2_val' has a loss but no accuracy"),
        ({"subset_losses": {"T1_all": float("inf")}}, "the loss of 'T1_all' is inf"),
        ({"task_id": 2}, "task_id is 2: it is 0 for T1 and 1 for T2"),
        ({"task_id": 0}, "epoch 3 of task 0 comes after epoch 2 of task 1"),
        ({"epoch": 1}, "epoch 1 of task 1 comes after epoch 2"),
        ({"epoch": 2}, "'T1_all' has already been added for epoch 2 of task 1"),
        ({"epoch": -1}, "epoch is -1"),
        ({"epoch": float("nan")}, "epoch is nan"),
    ],
)
def test_wrong_input_is_refused_whole(call, message):
    made = calculator()
    before = made.timeline().frame
    usual = {"epoch": 3, "task_id": 1, "subset_accuracies": {"T1_all": 0.5}}
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        made.add_timeline_data(**{**usual, **call})
    assert made.timeline().frame.equals(before)
    made.add_timeline_data(**usual)  # and it can go on


def test_further_subsets_of_the_same_moment_may_follow():
    made = calculator()
    made.add_timeline_data(2, 1, {"T2_shortcut_clean": 0.3})
    assert made.timeline().curve("model", 0, "T2", "T2_shortcut_clean")[1].tolist() == [0.3]


def test_nothing_added_and_no_threshold_between_0_and_1():
    with pytest.raises(InputError, match="no timeline data was added"):
        EinstellungMetricsCalculator().calculate_comprehensive_metrics()
    with pytest.raises(InputError, match="adaptation_threshold is 80"):
        EinstellungMetricsCalculator(adaptation_threshold=80)


def test_statistics_over_experiments_leave_undefined_ones_out_and_say_so():
    scores = [0.3, 0.5, 0.7]
    base = calculator().calculate_comprehensive_metrics()
    never = calculator(0.95).calculate_comprehensive_metrics()
    stats = calculate_cross_experiment_eri_statistics([*(replace(base, eri_score=score) for score in scores), never])
    assert list(stats) == ["adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score"]
    score = stats["eri_score"]
    assert (score["mean"], score["std"]) == (pytest.approx(0.5), pytest.approx(stdev(scores)))
    assert (score["min"], score["max"], score["n"], score["n_undefined"]) == (0.3, 0.7, 3, 1)
    assert score["why_undefined"] == "T1_all never reached 0.95 in T1 (best 0.900)"
    deficit = stats["performance_deficit"]
    assert (deficit["n"], deficit["n_undefined"], deficit["why_undefined"]) == (4, 0, None)
    with pytest.raises(InputError, match="no metrics were given"):
        calculate_cross_experiment_eri_statistics([])


def test_the_names_come_lazily_and_numbers_need_no_torch():
    code = "import sys; from einstellung.guide import EinstellungMetricsCalculator; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    import einstellung.guide

    with pytest.raises(AttributeError, match="no attribute 'EinstellungMetric'"):
        einstellung.guide.EinstellungMetric  # noqa: B018
    assert set(einstellung.guide.__all__) <= set(dir(einstellung.guide))
