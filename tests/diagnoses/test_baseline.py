"""Which method is the baseline."""

from __future__ import annotations

import pandas as pd
import pytest

from einstellung.diagnoses.baseline import resolve_baseline
from einstellung.diagnoses.registry import get_diagnosis
from einstellung.errors import InputError
from einstellung.timeline import Timeline


def timeline(*methods):
    rows = [(method, 1, "T1", 1.0, "T1_val", 0.5, None, 100) for method in methods]
    return Timeline(pd.DataFrame(rows, columns=["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]))


def test_case_is_ignored_for_every_baseline():
    assert resolve_baseline(timeline("Naive", "er"), "NAIVE", "scratch") == "Naive"
    assert resolve_baseline(timeline("Scratch", "er"), None, "scratch") == "Scratch"
    assert resolve_baseline(timeline("naive", "Naive"), "naive", "scratch") == "naive"


def test_a_default_may_be_absent_and_a_name_may_not():
    assert resolve_baseline(timeline("er"), None, "scratch") is None
    with pytest.raises(InputError, match="no baseline 'scrath' in the timeline: did you mean 'scratch'"):
        resolve_baseline(timeline("scratch"), "scrath", "scratch")


def test_two_that_are_alike_are_refused():
    with pytest.raises(InputError, match="baseline 'NAIVE' matches Naive, naive: give the exact name"):
        resolve_baseline(timeline("Naive", "naive"), "NAIVE", "scratch")


@pytest.mark.parametrize(
    ("kind", "baseline", "undefined"),
    [("rigidity", "scratch_t2", "AD, PD"), ("confounding", "scratch", "AD, PD"), ("shortcuts", "erm", "amplification")],
)
def test_every_kind_knows_the_baseline_that_its_methods_lack(kind, baseline, undefined):
    diagnosis = get_diagnosis(kind)
    settings = diagnosis.Settings()
    warning = diagnosis.missing_baseline(settings, ["sgd", "er"], 2)
    assert warning.startswith(f"no baseline '{baseline}' among the methods: {undefined}")
    assert "\n" not in warning
    assert diagnosis.missing_baseline(settings, ["sgd", baseline.upper()], 2) is None
    named = diagnosis.Settings(baseline="mine")
    assert "'mine'" in diagnosis.missing_baseline(named, ["sgd", baseline], 2)
    assert diagnosis.missing_baseline(named, ["mine"], 2) is None


def test_a_single_confounded_task_and_the_guide_need_none():
    confounding, guide = get_diagnosis("confounding"), get_diagnosis("guide")
    assert confounding.missing_baseline(confounding.Settings(), ["naive"], 1) is None
    assert guide.missing_baseline(guide.Settings(), ["sgd"], 2) is None
