"""Dark experience replay with labels, DER++ (Buzzega et al., 2020).

A reservoir holds (image, logits at the time it was seen, label). With two independent draws B', B'' from it,
loss = CE(f(x), y) + alpha MSE(f(x'), z') + beta CE(f(x''), y''). Batch and draws have separate batch-norm statistics, as in
three forward passes. With ``joined`` they are one batch: the same loss, with batch-norm statistics over all three.
Differs from the original only in that replayed images are given their cue again, and in the options ``replay`` and ``joined``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.planning import Workload
from einstellung.learners.replay import ReplayLearner, ReplayOptions, ReplayWorkload


@dataclass(frozen=True)
class DERppOptions(ReplayOptions):
    method: ClassVar[str] = "derpp"
    alpha: float = option(0.1, "the ERI experiment; Mammoth's choice for CIFAR-100 is 0.3")
    beta: float = option(0.5, "the ERI experiment; the same as Mammoth's for CIFAR-100")
    joined: bool = option(False, "the authors' code; true: batch and draws in one pass, batch norm over all")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(0, "alpha", "beta")


@learners.register("derpp")
class DarkExperienceReplayPlusPlus(ReplayLearner):
    """Replay with stored labels and stored logits (DER++)."""

    Options: ClassVar[type] = DERppOptions
    workload: ClassVar[Workload] = ReplayWorkload(draws=2)

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if not len(self.buffer):
            logits = self.logits(batch.inputs)
            return F.cross_entropy(logits, batch.labels), logits
        first, _, past = self.replay()
        second, labels, _ = self.replay()
        logits, dark, labelled = self.logits_of((batch.inputs, first, second), self.options.joined)
        loss = F.cross_entropy(logits, batch.labels) + self.options.alpha * F.mse_loss(dark, past)
        return loss + self.options.beta * F.cross_entropy(labelled, labels), logits

    def memory_loss(self) -> Tensor:
        if not len(self.buffer):
            return torch.zeros((), device=self.context.device)
        first, _, past = self.replay()
        second, labels, _ = self.replay()
        dark = self.options.alpha * F.mse_loss(self.logits(first), past)
        return dark + self.options.beta * F.cross_entropy(self.logits(second), labels)
