"""Dark experience replay, DER (Buzzega et al., 2020).

A reservoir holds (image, logits at the time it was seen). With a draw B' from it,
loss = CE(f(x), y) + alpha MSE(f(x'), z'); the batch and the draw go through the net one after the other.
Differs from the original in nothing but the cue, which what is replayed bears again, and the option ``replay``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.replay import ReplayLearner, ReplayOptions


@dataclass(frozen=True)
class DEROptions(ReplayOptions):
    method: ClassVar[str] = "der"
    alpha: float = option(0.3, "Mammoth's choice for CIFAR-10 with a buffer of 500")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(0, "alpha")


@learners.register("der")
class DarkExperienceReplay(ReplayLearner):
    """Replay with the logits of the past."""

    Options: ClassVar[type] = DEROptions

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        logits = self.logits(batch.inputs)
        loss = F.cross_entropy(logits, batch.labels)
        if len(self.buffer):
            inputs, _, past = self.replay()
            loss = loss + self.options.alpha * F.mse_loss(self.logits(inputs), past)
        return loss, logits
