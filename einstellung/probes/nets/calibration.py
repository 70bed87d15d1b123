"""Calibration of a net with the cue, with it covered, never painted, and on the other classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from einstellung.metrics.calibration import brier_scores, expected_calibration_error, reliability, softmax
from einstellung.probes.nets.subject import ProbedNet, Subject
from einstellung.results.probe_files import CalibrationReading, ReliabilityBin
from einstellung.timeline import NSC, NSC_PATCHED, SC_CLEAN, SC_MASK, SC_PATCH

SPLITS = (SC_PATCH, SC_MASK, SC_CLEAN, NSC, NSC_PATCHED)


def calibration(subject: Subject) -> Iterator[CalibrationReading]:
    """One reading per split that the stream has."""
    for split in SPLITS:
        if split in subject.net.splits:
            yield _reading(subject.net, split)


def _reading(net: ProbedNet, split: str) -> CalibrationReading:
    probabilities, labels = softmax(net.observed(split).logits), net.labels(split)
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    width, mass = (expected_calibration_error(confidence, correct, binning) for binning in ("width", "mass"))
    assert width is not None
    assert mass is not None
    shortcut = np.unique(net.labels(SC_PATCH)) if SC_PATCH in net.splits else None
    return CalibrationReading(
        split=split,
        n=len(labels),
        accuracy=float(correct.mean()),
        confidence=float(confidence.mean()),
        ece_width=width,
        ece_mass=mass,
        brier=float(brier_scores(probabilities, labels).mean()),
        shortcut_probability=None if shortcut is None else float(probabilities[:, shortcut].sum(axis=1).mean()),
        bins=tuple(ReliabilityBin(**asdict(one)) for one in reliability(confidence, correct)),
    )
