"""Dark experience replay, DER++ (Buzzega et al., 2020).

A reservoir holds (image, logits at the time it was seen, label). With two independent draws B', B'' from it,
loss = CE(f(x), y) + alpha MSE(f(x'), z') + beta CE(f(x''), y'').

The buffer is filled and replayed within a phase too, the first one included, as in the authors' code. What is replayed is
augmented anew and carries its cue again by the stream's own rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Learner, learners
from einstellung.learners.reservoir import Reservoir
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class DERppOptions:
    buffer: int = 500
    alpha: float = 0.1
    beta: float = 0.5
    draw: int = 32

    def __post_init__(self) -> None:
        if self.buffer < 1 or self.draw < 1:
            raise InputError("learners.derpp.buffer and learners.derpp.draw must be at least 1")


@learners.register("derpp")
class DarkExperienceReplayPlusPlus(Learner):
    """Replay with the labels and with the logits of the past."""

    Options: ClassVar[type] = DERppOptions
    plain_history: ClassVar[bool] = False
    cost: ClassVar[float] = 3.0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.buffer = Reservoir(self.options.buffer)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self._slots = generator(seed, "buffer", phase.name, epoch)
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._cue = generator(seed, "replay-cue", phase.name, epoch)

    def observe(self, batch: Batch) -> Tensor:
        with self.context.autocast():
            logits = self.net(batch.inputs)
        loss = F.cross_entropy(logits.float(), batch.labels)
        if len(self.buffer):
            inputs, _, past = self.replay()
            with self.context.autocast():
                now = self.net(inputs)
            loss = loss + self.options.alpha * F.mse_loss(now.float(), past)
            inputs, labels, _ = self.replay()
            loss = loss + self.options.beta * self.cross_entropy(inputs, labels)
        loss = self.step(loss)
        self.buffer.add(batch.raw, logits.detach().float(), self._slots)
        return loss

    def replay(self) -> tuple[Tensor, Tensor, Tensor]:
        """A draw from the buffer as the net sees it, its labels, its logits."""
        images, logits = self.buffer.draw(self.options.draw, self._draws)
        inputs = self.context.presentation.training(images, self._augmentation, self._cue)
        return inputs, images.labels.to(inputs.device), logits.to(inputs.device)

    def state_dict(self) -> dict[str, Any]:
        return {"buffer": self.buffer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.buffer.load_state_dict(state["buffer"])
