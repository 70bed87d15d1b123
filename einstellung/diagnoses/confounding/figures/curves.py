"""Learning curves over all phases of a study of confounded tasks, one column per seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from einstellung.diagnoses.confounding.runs import task_curve
from einstellung.diagnoses.confounding.splits import UNCONFOUNDED
from einstellung.metrics.bands import Band, band
from einstellung.timeline import Curve, Timeline

KINDS = ("train", "val", "test", UNCONFOUNDED)


@dataclass(frozen=True)
class PhasePart:
    """One phase of one method: where it starts and ends on the common axis, its curves by kind, and its end."""

    phase: str
    start: float
    end: float
    curves: Mapping[str, Band]
    average: float | None


def phase_parts(timeline: Timeline, method: str, tasks: Sequence[str]) -> list[PhasePart]:
    """The phases of a method after each other; effective epochs count on from phase to phase.

    ``average`` is the accuracy over all tasks met so far, at the end of the phase; a method that learns all at once has met all.
    """
    parts: list[PhasePart] = []
    start = 0.0
    phases = dict.fromkeys(phase for seed in timeline.seeds(method) for phase in timeline.phases(method, seed))
    for phase in sorted(phases, key=lambda name: int(name[1:])):
        runs = {seed: timeline.curves(method, seed, phase) for seed in timeline.seeds(method)}
        known = _aligned({seed: curves for seed, curves in runs.items() if curves})
        length = max(float(curve.epochs[-1]) for curves in known.values() for curve in curves.values())
        bands = {}
        for kind in KINDS:
            table = _table(known, phase, kind)
            if (summary := band(table)) is not None:
                bands[kind] = Band(summary.epochs + start, summary.mean, summary.sd, summary.n)
        met = tasks if len(phases) == 1 else tasks[: tasks.index(phase) + 1]
        parts.append(PhasePart(phase, start, start + length, bands, _average(known, met, length)))
        start += length
    return parts


def _aligned(runs: Mapping[int, Mapping[str, Curve]]) -> Mapping[int, Mapping[str, Curve]]:
    """The same runs with moments in common: the k-th of each at the mean of their effective epochs.

    Of a buffer that is drawn at random, each seed has a few more or fewer images of the phase itself, so that no two of its
    runs are measured at the same effective epoch. Runs that were not measured as often stay as they are.
    """
    moments = {
        seed: np.unique(np.round(np.concatenate([curve.epochs for curve in curves.values()]), 9))
        for seed, curves in runs.items()
    }
    if len({len(epochs) for epochs in moments.values()}) != 1:
        return runs
    common = np.mean(list(moments.values()), axis=0)
    return {
        seed: {
            split: replace(curve, epochs=common[np.searchsorted(moments[seed], np.round(curve.epochs, 9))])
            for split, curve in curves.items()
        }
        for seed, curves in runs.items()
    }


def _table(runs: Mapping[int, Mapping[str, Curve]], phase: str, kind: str) -> pd.DataFrame:
    columns = {}
    for seed, curves in runs.items():
        if kind in ("train", "val"):
            curve = curves.get(f"{phase}_{kind}")
            found = None if curve is None else (curve.epochs, curve.acc)
        else:
            found = task_curve(curves, phase if kind == "test" else UNCONFOUNDED)
        if found is not None:
            columns[seed] = pd.Series(found[1], index=np.round(found[0], 9))
    return pd.DataFrame(columns, dtype=float)


def _average(runs: Mapping[int, Mapping[str, Curve]], met: Sequence[str], end: float) -> float | None:
    values = []
    for curves in runs.values():
        for task in met:
            found = task_curve(curves, task)
            if found is None or abs(found[0][-1] - end) > 1e-6:
                return None
            values.append(float(found[1][-1]))
    return float(np.mean(values)) if values else None
