"""The contrasts by which probes are read: a number per run, compared with the baseline's of the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from einstellung.metrics.statistics import Summary, summarise
from einstellung.results.probe_files import (
    ALL_OF_T2,
    CalibrationReading,
    FlipReading,
    PlasticityReading,
    ProbeFile,
    SimilarityReading,
)
from einstellung.timeline import NSC_PATCHED, SC_MASK, SC_PATCH, Run

Side = Literal["above", "below", "across", "unknown"]
Value = Callable[[Run], float | None]
FEATURES = "features"  # the layer before the head
DORMANT = "0.025"  # the threshold of Sokar et al. that counts nearly silent units too
_FEWEST_SEEDS = 3


def moved_by_cover(file: ProbeFile[SimilarityReading], run: Run) -> float | None:
    """1 - CKA of the features of T2's test images with the cue and with it covered."""
    own = (one for one in file.readings(run) if (one.change, one.split, one.layer) == ("cue", ALL_OF_T2, FEATURES))
    value = next((one.value for one in own), None)
    return None if value is None else 1 - value


def brier_lost(file: ProbeFile[CalibrationReading], run: Run) -> float | None:
    """The Brier score with the cue covered minus that with the cue, on the same images."""
    scores = {one.split: one.brier for one in file.readings(run)}
    return scores[SC_MASK] - scores[SC_PATCH] if {SC_MASK, SC_PATCH} <= scores.keys() else None


def turned_by_cue(file: ProbeFile[FlipReading], run: Run) -> float | None:
    """The share of NSC images that are right without the cue and wrong with it."""
    found = (one.negative for one in file.readings(run) if one.change == "cue" and one.split == NSC_PATCHED)
    return next(found, None)


def dormant_units(file: ProbeFile[PlasticityReading], run: Run) -> float | None:
    """The share of dormant units after T2."""
    return next((one.dormant[DORMANT] for one in file.readings(run) if one.net == "T2"), None)


def feature_rank(file: ProbeFile[PlasticityReading], run: Run) -> float | None:
    """The effective rank of the features after T2."""
    return next((one.effective_rank for one in file.readings(run) if one.net == "T2"), None)


def contrast(method: str, baseline: str, seeds: list[int], value: Value) -> Summary:
    """The method's value minus the baseline's of the same seed, over seeds."""
    pairs = [(value((method, seed)), value((baseline, seed))) for seed in seeds]
    return summarise([None if own is None or other is None else own - other for own, other in pairs])


def side_of(summary: Summary) -> Side:
    """On which side of 0 the interval lies; ``unknown`` below three seeds.

    >>> side_of(summarise([0.1, 0.2, 0.3, 0.2])), side_of(summarise([0.1, -0.1, 0.2])), side_of(summarise([0.1, 0.2]))
    ('above', 'across', 'unknown')
    """
    if summary.n < _FEWEST_SEEDS or summary.ci95 is None:
        return "unknown"
    low, high = summary.ci95
    return "above" if low > 0 else "below" if high < 0 else "across"
