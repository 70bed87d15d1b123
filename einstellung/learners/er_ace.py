"""Experience replay with asymmetric cross entropy, ER-ACE (Caccia et al., 2022).

From the second phase on, loss = CE_A(f(x), y) + CE(f(x'), y'): the batch B competes only among A, the classes in it and those of
later phases, so that new images do not push down the outputs of old classes; a draw B' from a reservoir competes among all. Both
have batch-norm statistics of their own. The first phase is plain; its images enter the reservoir.

Differs from the original in that replayed images are given their cue again, and in the option ``replay``. A counts the classes of
a phase as seen from its first batch, and the largest one seen only where it is in the batch (in the authors' code always).
Mammoth replaces the head by a cosine classifier; here it stays the net's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch, learners
from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.replay import ReplayLearner, ReplayOptions, ReplayWorkload
from einstellung.modalities.transfer import to_device
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class ERACEOptions(ReplayOptions):
    method: ClassVar[str] = "er_ace"


@dataclass(frozen=True)
class ERACEWorkload(ReplayWorkload):
    """A draw in every step from the second phase on, whatever ``replay`` is."""

    def extra_images_per_step(
        self, options: ReplayOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        return super().extra_images_per_step(options, sizes, number, stage) if number else 0.0


@learners.register("er_ace")
class AsymmetricReplay(ReplayLearner):
    """Replay in which new images do not compete with the classes of old ones."""

    Options: ClassVar[type] = ERACEOptions
    workload: ClassVar[Workload] = ERACEWorkload()
    completes_methods: ClassVar[bool] = False

    @classmethod
    def shares_first_phase(cls, options: ReplayOptions) -> bool:
        return options.replay == "earlier"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._later: list[int] = []
        self._first = True

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        earlier = self.context.earlier(phase)
        known = {label for one in (*earlier, phase) for label in one.classes}
        self._later = [label for label in range(self.context.presentation.stream.n_outputs) if label not in known]
        self._first = not earlier

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if self._first:
            logits = self.logits(batch.inputs)
            return F.cross_entropy(logits, batch.labels), logits
        if not len(self.buffer):
            logits = self.logits(batch.inputs)
            return F.cross_entropy(self._competing(logits, batch), batch.labels), logits
        inputs, labels, _ = self.replay()
        logits, replayed = self.logits_apart((batch.inputs, inputs))
        loss = F.cross_entropy(self._competing(logits, batch), batch.labels)
        return loss + F.cross_entropy(replayed, labels), logits

    def _competing(self, logits: Tensor, batch: Batch) -> Tensor:
        """The logits of A; all others are -inf."""
        left_out = torch.ones(logits.shape[1], dtype=torch.bool)  # made on the host, where the labels are too
        left_out[batch.raw.labels] = False
        left_out[self._later] = False
        return logits.masked_fill(to_device(left_out, logits.device), -torch.inf)
