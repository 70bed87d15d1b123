"""Figures of probes: every number in its place."""

from __future__ import annotations

import numpy as np

from einstellung.diagnoses.rigidity.corroboration import corroborate
from einstellung.diagnoses.rigidity.figures.reliability import draw_reliability, pooled
from einstellung.diagnoses.rigidity.figures.similarity import draw_similarity
from einstellung.report.figures.canvas import drawing, settle
from einstellung.results.probe_files import (
    CalibrationReading,
    NullPair,
    Probed,
    ReliabilityBin,
    SimilarityReading,
)
from einstellung.results.run_files import RunFiles
from einstellung.timeline import SC_PATCH
from tests.diagnoses.rigidity.test_corroboration import card, file


def similar(method, place):
    value = {"scratch_t2": 0.9, "sgd": -0.02}[method]
    own = SimilarityReading(change="cue", split=SC_PATCH, layer="stage 1", value=value, ci95=None, n=9)
    return (own, against(0.4)) if method == "sgd" else (own,)


def against(value):
    return SimilarityReading(change="baseline", split=SC_PATCH, layer="stage 1", value=value, ci95=None, n=9)


def test_cells_stand_below_their_comparison_and_two_seeds_in_the_baselines_panel():
    found = file("cka", similar, null=(NullPair(seeds=(1, 2), readings=(against(0.6),)),))
    rows = corroborate(card(), Probed(cka=found), RunFiles()).measured["cka"]
    with drawing():
        figure = draw_similarity(rows, ["scratch_t2", "sgd"], "scratch_t2")
        settle(figure)
    baseline, sgd = ({text.get_position()[0]: text.get_text() for text in axes.texts} for axes in figure.axes[:2])
    assert baseline == {2: "0.60", 3: "0.90"}
    assert sgd == {2: "0.40", 3: "−0.02"}  # below 0, and shown as it is


def calibrated(method, place):
    bins = (
        ReliabilityBin(n=10, confidence=0.55, accuracy=0.5),
        ReliabilityBin(n=30 * place, confidence=0.95, accuracy=1.0),
    )
    same = {"accuracy": 0.5, "confidence": 0.5, "ece_width": 0.0, "ece_mass": 0.0, "brier": 0.0}
    shown = tuple(one for one in bins if one.n)
    return (CalibrationReading(split=SC_PATCH, n=10, shortcut_probability=None, bins=shown, **same),)


def test_bins_of_all_seeds_are_counted_together():
    found = file("calibration", calibrated)
    np.testing.assert_allclose(pooled(found, "sgd", SC_PATCH), [[0.55, 0.5, 40 / 220], [0.95, 1.0, 180 / 220]])
    assert pooled(found, "sgd", "T2_shortcut_masked").shape == (0, 3)
    with drawing():
        figure = draw_reliability(found, ["scratch_t2", "sgd", "not probed"])
        settle(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()] == ["scratch_t2", "sgd"]
