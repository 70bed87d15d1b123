"""Which method is the baseline."""

from __future__ import annotations

import pandas as pd
import pytest

from einstellung.diagnoses.baseline import resolve_baseline
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
    with pytest.raises(InputError, match="baseline 'NAIVE' may be any of Naive, naive: write it exactly"):
        resolve_baseline(timeline("Naive", "naive"), "NAIVE", "scratch")
