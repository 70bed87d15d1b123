"""Joint training: all phases shuffled into one set, from random weights.

min_theta CE over all phases together, with the sample budget of all of them: sum_t E_t |T_t| / sum_t |T_t| passes, the last one
cut short where that is not a whole number; the learning rate drops at the same fractions of training. ``epochs`` overrides the
number of passes. Only the last phase's images count for the effective epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from einstellung.errors import InputError
from einstellung.learners.learner import Learner, Stage, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class JointOptions:
    epochs: int | None = option(None, "ours: passes over all phases; null: the sample budget of all phases together")

    def __post_init__(self) -> None:
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"learners.joint.epochs is {self.epochs}: it must be at least 1")


@dataclass(frozen=True)
class JointWorkload(Workload):
    """Every epoch is a pass over all phases."""

    def cost(self, options: JointOptions, sizes: Sequence[int], number: int) -> float:
        return sum(sizes) / sizes[number]


@learners.register("joint")
class Joint(Learner):
    """Trains a fresh net on all phases, shuffled into one set."""

    Options: ClassVar[type] = JointOptions
    skips_history: ClassVar[bool] = True
    workload: ClassVar[Workload] = JointWorkload()

    @classmethod
    def stages(
        cls, options: JointOptions, sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        """The sample budget of all phases, in passes over all of them, unless ``epochs`` is given.

        >>> [Joint.stages(JointOptions(), [200, 100], epochs, 1)[0].passes for epochs in ([50, 50], [8, 20])]
        [50.0, 12.0]
        >>> Joint.stages(JointOptions(epochs=6), [200, 100], [3, 3], 1)[0].passes
        6.0
        """
        if options.epochs is not None:
            return (Stage(TRAIN, float(options.epochs)),)
        budget = sum(size * count for size, count in zip(sizes, epochs, strict=True))
        return (Stage(TRAIN, budget / sum(sizes)),)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)
