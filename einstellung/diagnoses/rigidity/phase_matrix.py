"""Forgetting and transfer over all phases, from the accuracy on every phase after every phase."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.diagnoses.rigidity.assessment import ACCURACY, DIFFERENCE
from einstellung.diagnoses.rigidity.phase_card import PhaseMatrix
from einstellung.diagnoses.rigidity.projection import FRESH, pooled, splits_with_test_images
from einstellung.metrics import continual
from einstellung.metrics.curves import TOLERANCE, last_value, value_at
from einstellung.metrics.statistics import summarise
from einstellung.timeline import Curve, Timeline

_Matrix = list[list[float | None]]


def phase_matrices(timeline: Timeline, fresh: str | None) -> dict[str, PhaseMatrix]:
    """The matrix and its metrics of every continual method; ``fresh``: one with a new net in every phase, which is none.

    What an untrained model knows of a phase is what ``fresh`` knows when it begins it.
    """
    phases = tuple(phase for phase in timeline.phase_names if splits_with_test_images(timeline, phase))
    tests = _TestCurves(timeline, phases)
    return {
        method: _of_method(tests, timeline.seeds(method), method, fresh)
        for method in timeline.methods
        if method.lower() not in FRESH
    }


class _TestCurves:
    """The accuracy of every run in every phase, on the test images of every phase."""

    def __init__(self, timeline: Timeline, phases: Sequence[str]) -> None:
        self.phases = phases
        named = [pooled(timeline.frame, splits_with_test_images(timeline, phase), f"{phase}_all") for phase in phases]
        self._tests = [Timeline(table) if len(table) else None for table in named]

    def curve(self, method: str, seed: int, trained: str, place: int) -> Curve | None:
        tests = self._tests[place]
        return None if tests is None else tests.curves(method, seed, trained).get(f"{self.phases[place]}_all")

    def start(self, method: str, seed: int, place: int) -> float | None:
        """The accuracy on a phase as it begins."""
        curve = self.curve(method, seed, self.phases[place], place)
        return None if curve is None else value_at(curve.epochs, curve.acc, 0.0)

    def matrix(self, method: str, seed: int) -> _Matrix:
        """R[i][j]: the accuracy on phase j after phase i; where that was not measured, as the next phase begins."""
        return [[self._after(method, seed, i, j) for j in range(len(self.phases))] for i in range(len(self.phases))]

    def _after(self, method: str, seed: int, trained: int, place: int) -> float | None:
        curve = self.curve(method, seed, self.phases[trained], place)
        known = None if curve is None else last_value(curve.epochs, curve.acc, after=TOLERANCE)
        if known is None and trained + 1 < len(self.phases):
            following = self.curve(method, seed, self.phases[trained + 1], place)
            known = None if following is None else value_at(following.epochs, following.acc, 0.0)
        return known


def _of_method(tests: _TestCurves, seeds: Sequence[int], method: str, fresh: str | None) -> PhaseMatrix:
    phases, places = tests.phases, range(len(tests.phases))
    matrices = [tests.matrix(method, seed) for seed in seeds]
    untrained = [[None if fresh is None else tests.start(fresh, seed, place) for place in places] for seed in seeds]
    transfer = [continual.forward_transfer(R, b) for R, b in zip(matrices, untrained, strict=True)]
    return PhaseMatrix(
        average_accuracy=summarise([continual.average_accuracy(R) for R in matrices], ACCURACY),
        BWT=summarise([continual.backward_transfer(R) for R in matrices], DIFFERENCE),
        FWT=summarise(transfer, DIFFERENCE),
        forgetting=summarise([continual.forgetting(R) for R in matrices], DIFFERENCE),
        accuracy={
            phases[i]: {phases[j]: summarise([R[i][j] for R in matrices], ACCURACY) for j in places} for i in places
        },
    )
