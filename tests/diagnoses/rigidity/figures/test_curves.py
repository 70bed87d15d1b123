"""Curves over phase 2: smoothed as they are scored, paired by seed."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.figures.curves import PhaseTwoCurves
from einstellung.metrics.bands import band


def test_bands_are_mean_and_sample_deviation_of_smoothed_seeds(written):
    frame = written.evidence.timeline.frame
    summary = band(PhaseTwoCurves(frame, written.card).accuracy("sgd"))
    rows = frame[(frame.method == "sgd") & (frame.phase == "T2") & (frame.split == "T2_shortcut_normal")]
    raw = rows.pivot_table(index="epoch", columns="seed", values="acc")
    by_hand = raw.loc[[1.0, 2.0, 3.0]].mean()
    assert summary.n == 3
    assert summary.epochs.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert summary.mean[2] == pytest.approx(by_hand.mean())
    assert summary.sd[2] == pytest.approx(by_hand.std(ddof=1))


def test_gaps_are_paired_by_seed(written):
    curves = PhaseTwoCurves(written.evidence.timeline.frame, written.card)
    sgd, scratch = curves.accuracy("sgd"), curves.accuracy("scratch_t2")
    assert curves.deficit("sgd").loc[5.0, 43] == pytest.approx(scratch.loc[5.0, 43] - sgd.loc[5.0, 43])
    delta = curves.reliance("sgd").loc[8.0, 44] - curves.reliance("scratch_t2").loc[8.0, 44]
    assert curves.relative_reliance("sgd").loc[8.0, 44] == pytest.approx(delta)
