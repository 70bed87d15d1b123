"""Just train twice, JTT (Liu et al., 2021).

Stage 1, ``identify``: plain training for ``identify_epochs``. The error set E holds the training images that this net gets wrong,
mostly those on which the shortcut fails. Stage 2: the net is reset to the weights at the start of the phase, and learns
by plain cross entropy from the enlarged set, which contains every image of E ``times`` times and every other one once:

    min_theta  times sum over E of CE(f(x), y) + sum over the others of CE(f(x), y).

Needs: nothing; the images that suffer from the shortcut are inferred.

Differs from the original in the definition of an epoch. The original's is one pass over the enlarged set; with ``times`` = 100
and a fifth of the images in E, that is about twenty times as long as in plain training. Here an epoch has as many images as the
phase, and the next one continues through the enlarged set, which is reshuffled after each full pass. So JTT takes as many steps
as any other method, its cost is known beforehand, and it is evaluated as often. The authors' code repeats E ``times`` + 1 times;
here it is as in the paper. E comes from images without augmentation, in Whac-A-Mole's code from augmented ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.reference import ReferenceOptions, TwoStageLearner
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class JTTOptions(ReferenceOptions):
    method: ClassVar[str] = "jtt"
    times: int = option(100, "the Whac-A-Mole authors' code; that of Liu et al. (2021) for Waterbirds")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "times")


@learners.register("jtt")
class JustTrainTwice(TwoStageLearner):
    """Images that a shortly trained net gets wrong are shown more often in the full training."""

    Options: ClassVar[type] = JTTOptions

    def infer(self, phase: Phase, logits: Tensor) -> Tensor:
        """Whether an image is in the error set."""
        return logits.argmax(dim=1) != phase.train.labels

    def begin_training(self, phase: Phase, inferred: Tensor) -> None:
        self._enlarged = enlarged(inferred, self.options.times)

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """All images once; in the second stage, the next part of the enlarged set, reshuffled after each full pass."""
        if self.identifies:
            return super().batches(phase, epoch, size)
        count, whole = len(phase.train), len(self._enlarged)
        begin = (epoch - 1 - self.options.identify_epochs) * count
        first, last = begin // whole, (begin + count - 1) // whole
        rounds = torch.cat([self._shuffled(phase, number) for number in range(first, last + 1)])
        batches: tuple[Tensor, ...] = rounds[begin - first * whole :][:count].split(size)
        return batches

    def _shuffled(self, phase: Phase, number: int) -> Tensor:
        draws = generator(self.context.seed, "enlarged-order", phase.name, number)
        return self._enlarged[torch.randperm(len(self._enlarged), generator=draws)]


def enlarged(errors: Tensor, times: int) -> Tensor:
    """Rows of a set of images, those of the error set repeated ``times`` times.

    >>> enlarged(torch.tensor([False, True, False]), 3).tolist()
    [0, 1, 2, 1, 1]
    """
    return torch.cat((torch.arange(len(errors)), errors.nonzero().flatten().repeat(times - 1)))
