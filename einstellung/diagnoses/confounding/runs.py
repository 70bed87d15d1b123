"""Measurements of one run of confounded tasks: every split at the end of every phase, and how soon each task was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.confounding.splits import LABELS
from einstellung.metrics.curves import TOLERANCE, FloatArray, shared_epochs, smooth, times_to_thresholds, value_at
from einstellung.timeline import Curve, Timeline

Ends = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class TaskRun:
    """One run; what was not measured is None. A run ``at_once`` learned all tasks in one phase, the last.

    ``reached``: effective epochs of its own phase until a task's accuracy was at the threshold, None where it never was;
    ``watched``: the tasks whose curve is known, so that a None among ``reached`` means 'never'.
    """

    method: str
    seed: int
    tasks: tuple[str, ...]
    phases: tuple[str, ...]
    ends: Ends
    images: Mapping[str, int]
    reached: Mapping[str, float | None]
    watched: frozenset[str]

    @property
    def at_once(self) -> bool:
        return len(self.tasks) > 1 and self.phases == self.tasks[-1:]

    def value(self, phase: str, split: str) -> float | None:
        """Accuracy on a split at the end of a phase."""
        return self.ends.get(phase, {}).get(split)

    def accuracy(self, phase: str, what: str) -> float | None:
        """Accuracy on a task, or on the unconfounded set: the mean of positives and negatives."""
        parts = [self.value(phase, f"{what}_{label}") for label in LABELS]
        return None if None in parts else sum(part for part in parts if part is not None) / len(parts)

    def moment(self, task: str) -> str:
        """The phase at whose end a task has just been learned: its own, or the only one."""
        return self.tasks[-1] if self.at_once else task

    def images_of(self, what: str) -> int | None:
        """How many test images there are of a task or of the unconfounded set; None where it was not recorded."""
        counts = [self.images.get(f"{what}_{label}") for label in LABELS]
        return None if None in counts else sum(count for count in counts if count is not None)


def measure_run(
    timeline: Timeline, method: str, seed: int, tasks: Sequence[str], settings: ConfoundingSettings
) -> TaskRun:
    """Read one run. The end of a phase is the last epoch at which anything was measured in it."""
    ends: dict[str, dict[str, float]] = {}
    images: dict[str, int] = {}
    reached: dict[str, float | None] = {}
    watched = set()
    for phase in timeline.phases(method, seed):
        curves = timeline.curves(method, seed, phase)
        last = max(float(curve.epochs[-1]) for curve in curves.values())
        if last <= TOLERANCE:
            continue  # only the model before its first step
        found = {split: value_at(curve.epochs, curve.acc, last) for split, curve in curves.items()}
        ends[phase] = {split: value for split, value in found.items() if value is not None}
        images |= {split: int(curve.n[-1]) for split, curve in curves.items() if not np.isnan(curve.n[-1])}
        if (curve := task_curve(curves, phase)) is not None and not _seen_at_the_end_only(curves, phase, curve[0]):
            epochs, acc = curve
            smoothed = smooth(epochs, acc, settings.window, settings.smoothing)
            (reached[phase],) = times_to_thresholds(epochs, smoothed, [settings.tau])
            watched.add(phase)
    return TaskRun(method, seed, tuple(tasks), timeline.phases(method, seed), ends, images, reached, frozenset(watched))


def task_curve(curves: Mapping[str, Curve], what: str) -> tuple[FloatArray, FloatArray] | None:
    """Accuracy on a task over a phase: the mean of positives and negatives at the epochs that have both; None without any."""
    parts = [curves[split] for label in LABELS if (split := f"{what}_{label}") in curves]
    if len(parts) < len(LABELS):
        return None
    epochs = shared_epochs([part.epochs for part in parts])
    if not len(epochs) or epochs[-1] <= TOLERANCE:
        return None
    values = [part.acc[np.searchsorted(part.epochs, epochs - TOLERANCE)] for part in parts]
    return epochs, np.mean(values, axis=0)


def _seen_at_the_end_only(curves: Mapping[str, Curve], task: str, epochs: FloatArray) -> bool:
    """Whether only validation was measured during the phase: a single final value does not date the crossing."""
    validation = curves.get(f"{task}_val")
    looks = int((epochs > TOLERANCE).sum())
    return validation is not None and looks < 2 and int((validation.epochs > TOLERANCE).sum()) > looks
