"""Measurements of one run: its time to threshold, its final accuracies, its accuracy after each phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from einstellung.diagnoses.rigidity.checks import starts_fresh
from einstellung.diagnoses.rigidity.settings import Final, FinalRule, RigiditySettings
from einstellung.diagnoses.rigidity.splits import GROUP
from einstellung.diagnoses.rigidity.words import say
from einstellung.errors import InputError
from einstellung.metrics.continual import pooled_accuracy
from einstellung.metrics.curves import (
    TOLERANCE,
    FloatArray,
    checkpoint_epoch,
    last_value,
    shared_epochs,
    smooth,
    times_to_thresholds,
    unwatched_epochs,
    value_at,
)
from einstellung.metrics.eri import cue_delta, share_lost
from einstellung.timeline import (
    NSC,
    NSC_PATCHED,
    SC_CLEAN,
    SC_ELSEWHERE,
    SC_MASK,
    SC_PATCH,
    T1_ALL,
    VAL,
    Curve,
    Timeline,
)

Field = Literal["acc", "acc_task", "acc_within"]
Curves = Mapping[str, Curve]


@dataclass(frozen=True)
class Accuracies:
    """Accuracies that a report shows; None where they were not measured.

    All at the chosen checkpoint, but ``T1`` at the end of T2 and ``T1_after_T1`` at the end of T1.
    """

    SC_patch: float | None
    SC_mask: float | None
    NSC: float | None
    NSC_patched: float | None
    SC_clean: float | None
    SC_elsewhere: float | None
    T1: float | None
    T1_after_T1: float | None

    @property
    def delta(self) -> float | None:
        return cue_delta(self.SC_patch, self.SC_mask)

    @property
    def share_lost(self) -> float | None:
        return share_lost(self.SC_patch, self.SC_mask)


@dataclass(frozen=True)
class PhaseAccuracies:
    """Accuracy on both tasks after both phases (``R``), and on the second task before T2 began."""

    R: tuple[tuple[float | None, float | None], tuple[float | None, float | None]]
    before_t2: float | None


@dataclass(frozen=True)
class RunMeasures:
    """Everything that is read from one run's curves.

    ``budget`` is None where no patched curve was recorded, or one with gaps: its first crossing would be unreliable.
    ``step`` is the widest gap between two evaluations of the patched curve: a time to threshold is known up to one step;
    ``first`` is its first evaluation after the start, the smallest time to threshold that can be measured.
    ``within`` has the accuracies of the largest logit among the split's own classes.
    """

    method: str
    seed: int
    E: float | None
    E_grid: tuple[float | None, ...]
    budget: float | None
    step: float
    first: float | None
    checkpoint_epoch: float | None
    accuracies: Accuracies
    within: Accuracies
    groups: Mapping[str, float | None]
    phases: PhaseAccuracies
    task: tuple[Accuracies, PhaseAccuracies] | None


def final_rule(timeline: Timeline, final: Final) -> tuple[FinalRule, list[str]]:
    """The rule that selects the final checkpoint, the same for all runs, and warnings about it.

    ``auto`` is the best validation accuracy if every run with T2 rows has a T2_val curve, else the last epoch.
    """
    with_val: list[str] = []
    without: dict[str, list[int]] = {}
    for method, seed in timeline.runs:
        curves = timeline.curves(method, seed, "T2")
        if not curves:
            continue
        if VAL in curves and (curves[VAL].epochs > TOLERANCE).any():
            with_val.append(method)
        else:
            without.setdefault(method, []).append(seed)
    named = "; ".join(f"{method} (seeds {', '.join(map(str, seeds))})" for method, seeds in without.items())
    if final == "best-val" and without:
        raise InputError(say("final needs", runs=named))
    if final != "auto":
        return final, []
    if with_val and not without:
        return "best-val", []
    if with_val:
        return "last", [say("final last", runs=named)]
    return "last", []


def measure(
    timeline: Timeline, method: str, seed: int, settings: RigiditySettings, rule: FinalRule, baseline: str | None
) -> RunMeasures:
    """Read one run. If it was not trained on T1, accuracies after T1 are undefined."""
    t1, t2 = timeline.curves(method, seed, "T1"), timeline.curves(method, seed, "T2")
    taus = (settings.tau, *settings.tau_grid)
    times: list[float | None] = [None for _ in taus]
    budget, step, first = None, 0.0, None
    if (patched := watched_curve(t2)) is not None:
        smoothed = smooth(patched.epochs, patched.acc, settings.window, settings.smoothing)
        times = times_to_thresholds(patched.epochs, smoothed, taus)
        budget, step = float(patched.epochs[-1]), widest_step(patched)
        first = float(patched.epochs[patched.epochs > TOLERANCE][0])
    epoch = checkpoint_epoch(t2, rule)
    fresh = starts_fresh(timeline, method, seed, baseline)
    return RunMeasures(
        method=method,
        seed=seed,
        E=times[0],
        E_grid=tuple(times[1:]),
        budget=budget,
        step=step,
        first=first,
        checkpoint_epoch=epoch,
        accuracies=accuracies_at(t1, t2, epoch, fresh, "acc"),
        within=accuracies_at(t1, t2, epoch, fresh, "acc_within"),
        groups=groups_at(t2, epoch),
        phases=phase_accuracies(t1, t2, fresh, "acc"),
        task=(
            (accuracies_at(t1, t2, epoch, fresh, "acc_task"), phase_accuracies(t1, t2, fresh, "acc_task"))
            if has_task(t2)
            else None
        ),
    )


def watched_curve(t2: Curves) -> Curve | None:
    """The patched curve of T2; None where it was not recorded after the start, or with gaps."""
    patched = t2.get(SC_PATCH)
    if patched is None or patched.epochs[-1] <= TOLERANCE or (unwatched_epochs(t2) > TOLERANCE).any():
        return None
    return patched


def widest_step(curve: Curve) -> float:
    """The widest gap between two evaluations of a curve after the start."""
    return float(np.diff(curve.epochs[curve.epochs > TOLERANCE], prepend=0.0).max())


def has_task(t2: Curves) -> bool:
    """Whether task-incremental accuracies were measured."""
    return any(curve.acc_task is not None and not np.isnan(curve.acc_task).all() for curve in t2.values())


def groups_at(t2: Curves, epoch: float | None) -> dict[str, float | None]:
    """The accuracy on every group of test images at the checkpoint."""
    return {
        split.removeprefix(GROUP): value_at(curve.epochs, curve.acc, epoch)
        for split, curve in t2.items()
        if split.startswith(GROUP)
    }


def _values(curves: Curves, split: str, field: Field) -> tuple[FloatArray, FloatArray]:
    curve = curves.get(split)
    values: FloatArray | None = None if curve is None else getattr(curve, field)
    if curve is None or values is None:
        return np.empty(0), np.empty(0)
    return curve.epochs, values


def accuracies_at(t1: Curves, t2: Curves, epoch: float | None, fresh: bool, field: Field) -> Accuracies:
    """The accuracies of a run; ``epoch`` is that of the checkpoint."""
    return Accuracies(
        SC_patch=value_at(*_values(t2, SC_PATCH, field), epoch),
        SC_mask=value_at(*_values(t2, SC_MASK, field), epoch),
        NSC=value_at(*_values(t2, NSC, field), epoch),
        NSC_patched=value_at(*_values(t2, NSC_PATCHED, field), epoch),
        SC_clean=value_at(*_values(t2, SC_CLEAN, field), epoch),
        SC_elsewhere=value_at(*_values(t2, SC_ELSEWHERE, field), epoch),
        T1=last_value(*_values(t2, T1_ALL, field), after=0.0),
        T1_after_T1=None if fresh else _after_t1(t1, t2, field),
    )


def _after_t1(t1: Curves, t2: Curves, field: Field) -> float | None:
    """T1 accuracy at the end of T1; where T1 was not recorded, that of the model as it enters T2."""
    at_the_end = last_value(*_values(t1, T1_ALL, field))
    return value_at(*_values(t2, T1_ALL, field), 0.0) if at_the_end is None else at_the_end


def phase_accuracies(t1: Curves, t2: Curves, fresh: bool, field: Field) -> PhaseAccuracies:
    """The accuracy on each task after each phase."""
    before = _t2_accuracy(t2, field, at=0.0)
    after_t1 = _t2_accuracy(t1, field)
    first = (None, None) if fresh else (_after_t1(t1, t2, field), before if after_t1 is None else after_t1)
    second = (last_value(*_values(t2, T1_ALL, field), after=0.0), _t2_accuracy(t2, field))
    return PhaseAccuracies(R=(first, second), before_t2=before)


def _t2_accuracy(curves: Curves, field: Field, at: float | None = None) -> float | None:
    """Accuracy on the whole second task (SC with the cue, and NSC) at one epoch, or at the last one after the start."""
    parts = [curves.get(SC_PATCH), curves.get(NSC)]
    if parts[0] is None or parts[1] is None:
        return None
    if at is None:
        shared = shared_epochs([parts[0].epochs, parts[1].epochs])
        if len(shared) == 0 or shared[-1] <= TOLERANCE:
            return None
        at = float(shared[-1])
    accuracies = [value_at(*_values(curves, split, field), at) for split in (SC_PATCH, NSC)]
    counts = [value_at(part.epochs, part.n, at) for part in parts if part is not None]
    return pooled_accuracy(accuracies, counts)
