"""Averaged gradient episodic memory, A-GEM (Chaudhry et al., 2019).

g is the gradient of CE on the batch, r that on a draw from a memory of earlier phases. Where the step would raise the memory's
loss, g r < 0, it is projected: g <- g - (g r / r r) r, otherwise g stays. Both are gradients of all weights together. The draw
has batch-norm statistics of its own. The first phase is plain.

Differs from the original in the memory: it has ``buffer`` images in all, balanced over the classes of every phase and drawn at
random from the phase, where the original keeps the last ones of every class; it is refilled after each phase. Mammoth's holds one
batch of each task. Images from the memory are augmented and given their cue again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.greedy import LevelBuffer, classes_of, fill, take_from
from einstellung.learners.learner import Learner, batch_sized_option, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class AGEMOptions:
    buffer: int = option(500, "ours: as in er; one of the sizes in Buzzega et al. (2020)")
    draw: int | None = batch_sized_option("Mammoth; null: as many images as training has in a batch")

    def __post_init__(self) -> None:
        for key in ("buffer", "draw"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise InputError(f"learners.agem.{key} is {value}: it must be at least 1")


@dataclass(frozen=True)
class AGEMWorkload(Workload):
    """From the second phase on, the gradient of a draw in every step."""

    def extra_images_per_step(
        self, options: AGEMOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        assert options.draw is not None, "Methods.options resolves it"
        return 0.0 if number == 0 else float(min(options.draw, options.buffer))


@learners.register("agem")
class AveragedGEM(Learner):
    """Fine-tuning with steps that do not raise the loss on a draw from a memory of earlier phases."""

    Options: ClassVar[type] = AGEMOptions
    workload: ClassVar[Workload] = AGEMWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.memory: ImageSet | None = None

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        earlier = self.context.earlier(phase)
        if earlier:
            rows = fill(LevelBuffer(self.options.buffer), earlier, classes_of, self.context.seed)
            self.memory = take_from(earlier, rows)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._cue = generator(seed, "replay-cue", phase.name, epoch)

    def adjust_gradients(self) -> None:
        if self.memory is None:
            return
        learned = [parameter for parameter in self.net.parameters() if parameter.grad is not None]
        past = torch.autograd.grad(self._memory_loss(self.memory), learned, allow_unused=True)
        pairs = [(p.grad, r) for p, r in zip(learned, past, strict=True) if p.grad is not None and r is not None]
        share = conflict(pairs)
        for gradient, reference in pairs:
            gradient.sub_(share * reference)

    def _memory_loss(self, memory: ImageSet) -> Tensor:
        images = memory.take(torch.randperm(len(memory), generator=self._draws)[: self.options.draw])
        inputs = self.context.presentation.training(images, self._augmentation, self._cue)
        return self.cross_entropy(inputs, to_device(images.labels, inputs.device))


def conflict(pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """min(0, g r) / r r over all weights, from pairs of g and r by weight: 0 where the step does not raise the memory's loss.

    >>> g, r = torch.tensor([1.0, -2.0]), torch.tensor([0.0, 4.0])
    >>> conflict([(g, r)]), conflict([(-g, r)])
    (tensor(-0.5000), tensor(0.))
    """
    along = torch.stack([(g * r).sum() for g, r in pairs]).sum()
    square = torch.stack([r.square().sum() for _, r in pairs]).sum()
    return along.clamp(max=0) / square.clamp(min=torch.finfo(square.dtype).tiny)
