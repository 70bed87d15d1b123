"""Experience replay, ER (Ratcliff, 1990; Riemer et al., 2019; Chaudhry et al., 2019).

A reservoir holds (image, label). A draw B' from it is appended to the batch B, and both share one forward pass and its
batch-norm statistics; loss = mean of CE(f(x), y) over B and B', as in the common implementation (Mammoth).
Differs from the original only in that replayed images are given their cue again, and in the option ``replay``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch, learners
from einstellung.learners.replay import ReplayLearner, ReplayOptions


@dataclass(frozen=True)
class EROptions(ReplayOptions):
    method: ClassVar[str] = "er"


@learners.register("er")
class ExperienceReplay(ReplayLearner):
    """Replay with stored labels, in one batch with the current images."""

    Options: ClassVar[type] = EROptions
    joins_batch: ClassVar[bool] = True

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        both = self.enlarged(batch)
        logits = self.logits(both.inputs)
        return F.cross_entropy(logits, both.labels), logits[: len(batch.labels)]
