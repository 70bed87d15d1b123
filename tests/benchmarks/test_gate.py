"""The benchmark's pairs of models have the accuracies and the rise that they claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.gate import INTERVALS, MIDDLE, RISEN, SETTINGS, predictions, rates
from einstellung.gating import gate


@pytest.mark.parametrize("setting", [*SETTINGS, *RISEN, replace(MIDDLE, rise=0.05)])
def test_the_truth_is_known(setting):
    before, after = setting.outcomes(200_000, np.random.default_rng(1))
    assert after.mean() - before.mean() == pytest.approx(setting.rise, abs=0.005)
    if not setting.swaps:
        assert before.mean() == pytest.approx(setting.cue - setting.covered, abs=0.005)


def test_every_share_is_of_all_pairs():
    found = rates(MIDDLE, 200, 30)
    assert sum(found["verdicts"].values()) == pytest.approx(1)
    assert found["coverage"].keys() == found["passes"].keys() == INTERVALS.keys()
    assert found["passes"]["score"] == found["verdicts"]["pass"]


def test_the_timed_files_can_be_gated():
    found = gate(predictions(300, 0), predictions(300, 1), max_delta=1)
    assert (found.n, len(found.groups["group"].rows)) == (300, 4)
