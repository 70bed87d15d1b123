"""SUBG (Idrissi, Arjovsky, Pezeshki and Lopez-Paz, 2022): every group cut to the size of the smallest, then plain training.

A group is class x values of the known cues; loss: mean CE(f(x), y) over a subset in which all groups of the phase that have
images are as large as the smallest of them.

Needs: image-level labels (``cues``: of which shortcuts; null: of all). As in the original and in Whac-A-Mole's code the subset is
drawn once: here once for every seed and phase. Differs from them in what an epoch is: as many images as the phase has, so that
the subset is repeated and SUBG takes as many steps as any other method. ``epoch: subset`` is one pass, as in theirs: with few
images in the smallest group, hardly a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.groups import SUBSET_SHARE, GroupLearner, GroupOptions
from einstellung.learners.planning import TRAIN, Workload
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class SUBGOptions(GroupOptions):
    method: ClassVar[str] = "subg"
    epoch: Literal["phase", "subset"] = option("phase", "as many images as the phase has; subset: the authors' code")


@dataclass(frozen=True)
class SUBGWorkload(Workload):
    """An epoch of the usual length, or one pass over the subset."""

    def share(self, options: SUBGOptions, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return 1.0 if options.epoch == "phase" else SUBSET_SHARE


@learners.register("subg")
class SubsampledGroups(GroupLearner):
    """Plain training on a subset in which the known cues are independent of the class."""

    Options: ClassVar[type] = SUBGOptions
    workload: ClassVar[Workload] = SUBGWorkload()

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self._kept = self.subset_of(phase)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """The subset, shuffled: once, or repeated until an epoch has as many images as the phase."""
        draws = generator(self.context.seed, "order", phase.name, epoch)
        count = len(phase.train) if self.options.epoch == "phase" else len(self._kept)
        passes = range(math.ceil(count / len(self._kept)))
        rows = torch.cat([self._kept[torch.randperm(len(self._kept), generator=draws)] for _ in passes])
        batches: tuple[Tensor, ...] = rows[:count].split(size)
        return batches
