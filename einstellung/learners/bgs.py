"""Group-class balanced greedy sampling, BGS (Lee, Jung and Moon, 2024), on experience replay.

A greedy buffer is balanced over the pairs of class and spurious features seen so far. A phase is learned as in ER, with a
draw B' of the buffer's images of earlier phases: loss = mean of CE(f(x), y) over B and B'. Then the buffer adds the phase, and
the last layer alone is trained on the buffer for ``last_layer_epochs`` passes, with a new optimiser at the study's first
learning rate.

Differs from the original, as the ConCon paper's code does, in that the last layer is balanced after every phase, not only after
the last one. In both codes every group has a fixed share of the buffer; here the groups are those seen so far, and a group that
cannot fill its share leaves it to the others. ConCon's groups are the phases; here they are the spurious features, the bits of
``features`` or the planted cue. While the last layer is trained the net is in evaluation mode, so that batch norm is frozen.
These passes are one epoch of the loop, evaluated once at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.greedy import LevelBuffer, fill, own_share, take_from
from einstellung.learners.last_layer import RetrainsLastLayer
from einstellung.learners.learner import Batch, Stage, batch_sized_option, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase

BALANCE = "balance"


@dataclass(frozen=True)
class BGSOptions:
    buffer: int = option(100, "the ConCon paper")
    draw: int | None = batch_sized_option(
        "the authors' code and that of the ConCon paper; null: as many images as training has in a batch"
    )
    last_layer_epochs: int = option(50, "the ConCon paper's code: as many as in a phase; 0: no last-layer training")

    def __post_init__(self) -> None:
        for key, least in (("buffer", 1), ("draw", 1), ("last_layer_epochs", 0)):
            value = getattr(self, key)
            if value is not None and value < least:
                raise InputError(f"learners.bgs.{key} is {value}: it must be at least {least}")


@dataclass(frozen=True)
class BGSWorkload(Workload):
    """Replay while a phase is learned, then passes of the last layer over the buffer, without replay."""

    def extra_images_per_step(
        self, options: BGSOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        assert options.draw is not None, "Methods.options resolves it"
        return 0.0 if number == 0 or stage == BALANCE else float(min(options.draw, options.buffer))

    def share(self, options: BGSOptions, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return options.last_layer_epochs * own_share(options.buffer, sizes, number) if stage == BALANCE else 1.0


@learners.register("bgs")
class BalancedGreedySampling(RetrainsLastLayer):
    """Replay from a buffer in which spurious features and class are independent, then last-layer training on the buffer."""

    Options: ClassVar[type] = BGSOptions
    needs_groups: ClassVar[bool] = True
    method: ClassVar[str] = "bgs"
    retraining: ClassVar[str] = BALANCE
    workload: ClassVar[Workload] = BGSWorkload()

    @classmethod
    def shares_first_phase(cls, options: BGSOptions) -> bool:
        return options.last_layer_epochs == 0

    @classmethod
    def stages(cls, options: BGSOptions, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        train = Stage(TRAIN, float(epochs[number]))
        return (train, Stage(BALANCE, 1.0)) if options.last_layer_epochs else (train,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._past: ImageSet | None = None

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        earlier = self.context.earlier(phase)
        self._past = take_from(earlier, self._kept_of(earlier)) if earlier else None

    def rows_to_retrain_on(self, phase: Phase) -> Tensor:
        return self._kept_of(self.sources(phase))

    def _kept_of(self, phases: Sequence[Phase]) -> Tensor:
        return fill(LevelBuffer(self.options.buffer), phases, _groups, self.context.seed)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        super().begin_epoch(phase, epoch)
        seed = self.context.seed
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._cue = generator(seed, "replay-cue", phase.name, epoch)

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return (*self.context.earlier(phase), phase) if self._retrains else (phase,)

    def objective(self, batch: Batch) -> Tensor:
        inputs, labels = batch.inputs, batch.labels
        if self._past is not None:
            past, past_labels = self._replay(self._past)
            inputs, labels = torch.cat((inputs, past)), torch.cat((labels, past_labels))
        return self.cross_entropy(inputs, labels)

    def _replay(self, past: ImageSet) -> tuple[Tensor, Tensor]:
        images = past.take(torch.randperm(len(past), generator=self._draws)[: self.options.draw])
        inputs = self.context.presentation.training(images, self._augmentation, self._cue)
        return inputs, to_device(images.labels, inputs.device)


def _groups(phase: Phase) -> list[tuple[int, int]]:
    return list(zip(phase.train.labels.tolist(), phase.train.spurious().tolist(), strict=True))
