"""Domain-independent training, DI (Wang et al., 2020): one last layer per domain on the same features.

A domain is what the told cues say of an image, D = 2^(number of cues) of them. Loss: mean CE(h_d(z), y), d being the image's own
domain. Test: mean_d h_d(z), so that nobody has to tell the domain.

Needs: image-level labels (``cues``: of which shortcuts; null: of all). Differs from the original, as Whac-A-Mole's code does, in
the mean where the original sums; and in that only domains of which there were training images so far take part in it. All
layers begin as the net's own last layer, one whose domain comes in a later phase as the mean of those known until then, so
that what the net says does not change.
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
from einstellung.streams.stream import Phase
from einstellung.streams.transfer import to_device


@dataclass(frozen=True)
class DIOptions(GroupOptions):
    method: ClassVar[str] = "di"


@learners.register("di")
class DomainIndependent(GroupLearner):
    """Every domain has a last layer to itself, in which the cue is of no use; in the mean, too, it is not."""

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
