"""Dark experience replay, DER (Buzzega et al., 2020).

A reservoir holds (image, logits at the time it was seen). With a draw B' from it,
loss = CE(f(x), y) + alpha MSE(f(x'), z'). The batch and the draw have separate batch-norm statistics, as in two forward passes.
With ``joined`` they are one batch: the same loss, with batch-norm statistics over both.
Differs from the original only in that replayed images are given their cue again, and in the options ``replay`` and ``joined``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.replay import ReplayLearner, ReplayOptions


@dataclass(frozen=True)
class DEROptions(ReplayOptions):
    method: ClassVar[str] = "der"
    alpha: float = option(0.3, "Mammoth's choice for CIFAR-10 with a buffer of 500")
    joined: bool = option(False, "the authors' code; true: batch and draw in one pass, batch norm over both")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(0, "alpha")


@learners.register("der")
class DarkExperienceReplay(ReplayLearner):
    """Replay with stored logits (dark experience replay)."""

    Options: ClassVar[type] = DEROptions

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if not len(self.buffer):
            logits = self.logits(batch.inputs)
            return F.cross_entropy(logits, batch.labels), logits
        inputs, _, past = self.replay()
        logits, replayed = self.logits_of((batch.inputs, inputs), self.options.joined)
        return F.cross_entropy(logits, batch.labels) + self.options.alpha * F.mse_loss(replayed, past), logits

    def memory_loss(self) -> Tensor:
        if not len(self.buffer):
            return torch.zeros((), device=self.context.device)
        inputs, _, past = self.replay()
        return self.options.alpha * F.mse_loss(self.logits(inputs), past)
