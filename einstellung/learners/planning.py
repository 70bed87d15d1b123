"""The cost of a method, for time estimates and the order of jobs. Nothing here affects training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TRAIN = "train"  # the one stage of a phase, unless a learner defines others


@dataclass(frozen=True)
class Workload:
    """The cost of a learner's phases, in steps of plain training per image; the default is plain training.

    A learner declares one as its ``workload``. ``sizes`` are the numbers of training images of all phases, ``number`` is the
    phase, counted from 0, ``stage`` the name of one of its stages.
    """

    step_cost: float = 1.0

    def cost(self, options: Any, sizes: Sequence[int], number: int) -> float:
        """The cost of a step per image of its batch, without :meth:`extra_images_per_step`."""
        return self.step_cost

    def extra_images_per_step(self, options: Any, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        """How many images a step processes in addition to its batch, whatever the batch size: draws from a buffer."""
        return 0.0

    def share(self, options: Any, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        """The share of the phase's images that a pass of the stage covers."""
        return 1.0

    def closing_cost(self, options: Any, size: int) -> float:
        """The cost of ``end_phase`` after a phase of ``size`` images, in images of plain training."""
        return 0.0

    def price(self, options: Any, sizes: Sequence[int], number: int, batch_size: int, stage: str = TRAIN) -> float:
        """The full cost of a stage per image of the phase; a batch is no larger than the phase.

        >>> from einstellung.learners import learners
        >>> learners["er"].workload.price(learners["er"].Options(draw=8, replay="earlier"), [100, 4], 1, 16)
        3.0
        """
        extra = self.extra_images_per_step(options, sizes, number, stage)
        return self.cost(options, sizes, number) + extra / min(batch_size, sizes[number])
