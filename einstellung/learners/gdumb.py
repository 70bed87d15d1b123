"""GDumb, the greedy sampler and dumb learner (Prabhu et al., 2020).

A greedy buffer is balanced over classes; in every phase a net is trained from the run's initial weights on the buffer alone:
min_theta CE(f_theta(x), y) over its at most ``buffer`` images of this and earlier phases.

Differs from the original in that the same class in two phases counts as two classes (the original's phases share no class;
otherwise a full, balanced buffer would never accept anything new), and in the training: the study's own optimiser, schedule,
epochs and augmentation, no cutmix. An epoch is ``passes`` passes over the buffer; only images of the current phase count for
the effective epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.greedy import GreedyBuffer, classes_of, fill, own_share
from einstellung.learners.learner import Learner, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class GDumbOptions:
    buffer: int = option(100, "the ConCon paper")
    passes: int = option(1, "ours: passes over the buffer per epoch; use more if a study has few epochs")

    def __post_init__(self) -> None:
        for key in ("buffer", "passes"):
            if getattr(self, key) < 1:
                raise InputError(f"learners.gdumb.{key} is {getattr(self, key)}: it must be at least 1")


@dataclass(frozen=True)
class GDumbWorkload(Workload):
    """Passes over the buffer instead of the phase."""

    def cost(self, options: GDumbOptions, sizes: Sequence[int], number: int) -> float:
        return number + 1.0  # per image of the phase, about one of each earlier phase

    def share(self, options: GDumbOptions, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return options.passes * own_share(options.buffer, sizes, number)


@learners.register("gdumb")
class GDumb(Learner):
    """Train a new net on a balanced buffer in every phase, including the first."""

    Options: ClassVar[type] = GDumbOptions
    workload: ClassVar[Workload] = GDumbWorkload()

    def begin_phase(self, phase: Phase) -> None:
        self.reinitialise()
        super().begin_phase(phase)
        buffer = GreedyBuffer(self.options.buffer)
        self._kept = fill(buffer, self.sources(phase), classes_of, self.context.seed)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """The buffer's images, once per pass."""
        draws = generator(self.context.seed, "order", phase.name, epoch)
        orders = (torch.randperm(len(self._kept), generator=draws) for _ in range(self.options.passes))
        return [rows for order in orders for rows in self._kept[order].split(size)]
