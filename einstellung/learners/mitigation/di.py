"""Domain-independent training, DI (Wang et al., 2020): one last layer per domain on the same features.

A domain is a combination of the known cues' values, D = 2^(number of cues) of them. Loss: mean CE(h_d(z), y), d being the
image's domain. Test: mean_d h_d(z), which does not need the domain.

Needs: image-level labels (``cues``: of which shortcuts; null: of all). Differs from the original, as Whac-A-Mole's code does, in
the mean where the original sums; and in that only domains with training images so far are in it. All layers start as
the net's own last layer, or as the mean of those known so far if their domain first occurs in a later phase, so
that the net's outputs do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.last_layer import put_in_place
from einstellung.learners.learner import Batch, learners
from einstellung.learners.mitigation.groups import GroupLearner, GroupOptions, domain_numbers
from einstellung.learners.mitigation.heads import DomainHeads
from einstellung.modalities.transfer import to_device
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class DIOptions(GroupOptions):
    method: ClassVar[str] = "di"


@learners.register("di")
class DomainIndependent(GroupLearner):
    """One last layer per domain, within which the cue is useless; the test averages over them."""

    Options: ClassVar[type] = DIOptions
    combines: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        n_outputs = self.context.presentation.stream.n_outputs
        self.heads = put_in_place(self.net, n_outputs, "di", lambda layer: DomainHeads(layer, 2 ** len(self.bits)))

    def begin_phase(self, phase: Phase) -> None:
        self.heads.know(domain_numbers(phase.train, self.bits).unique().tolist())
        super().begin_phase(phase)

    def objective(self, batch: Batch) -> Tensor:
        own = to_device(domain_numbers(batch.raw, self.bits), batch.labels.device)
        with self.context.autocast():
            logits = self.heads.each(self.heads.given_in(self.net, batch.inputs))
        return F.cross_entropy(logits[torch.arange(len(own), device=own.device), own], batch.labels)
