"""Group DRO (Sagawa, Koh, Hashimoto and Liang, 2020): minimise the loss of the worst group.

L_g = mean CE(f(x), y) over the images of group g in the batch, a group being class x values of the known cues. Every step
q_g <- q_g exp(eta L_g), then q <- q / sum(q), then a step on sum_g q_g L_g. Images are drawn so that every group is equally
likely, as many in an epoch as the phase has, with replacement.

Needs: image-level labels (``cues``: of which shortcuts; null: of all). q is reset in every phase, equal over the groups of its
images; a group that only occurs in replay joins with the mean weight of the others when it is first seen.
Differs from the original, as Whac-A-Mole's code does, in that there is no adjustment by group size; and in that groups without
any image have no weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.groups import GroupLearner, GroupOptions, balanced_batches
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


class GroupWeights:
    """The weights q of groups: multiplied by exp(``step`` x loss), then normalised to a sum of one.

    >>> weights = GroupWeights(3, step=0.5)
    >>> loss = weights.weighted(torch.tensor([2.0, 4.0, 0.0]), torch.tensor([0, 0, 2]))
    >>> [round(float(q), 4) for q in weights.q], round(float(loss), 4)
    ([0.8176, 0.0, 0.1824], 2.4527)
    """

    def __init__(self, n_groups: int, step: float = 0.01, device: torch.device | str = "cpu") -> None:
        self.step = step
        self.q = torch.zeros(n_groups, device=device)  # zero: not seen so far

    def expect(self, groups: Tensor) -> None:
        """Add these groups, with the mean weight of those already known."""
        met = self.q > 0
        mean = torch.where(met.any(), self.q.sum() / met.sum().clamp(min=1), torch.ones_like(self.q[0]))
        new = torch.zeros_like(met)
        new[groups] = True
        self.q = torch.where(new & ~met, mean, self.q)
        self.q = self.q / self.q.sum()

    def weighted(self, losses: Tensor, groups: Tensor) -> Tensor:
        """The loss of a batch from those of its images and their groups, by weights that it has changed already."""
        self.expect(groups)
        count = torch.zeros_like(self.q).index_add_(0, groups, torch.ones_like(losses))
        mean = torch.zeros_like(self.q).index_add(0, groups, losses) / count.clamp(min=1)
        self.q = self.q * torch.exp(self.step * mean.detach())
        self.q = self.q / self.q.sum()
        return self.q @ mean

    def state_dict(self) -> dict[str, Any]:
        return {"q": self.q}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.q = state["q"].to(self.q.device)


@dataclass(frozen=True)
class GDROOptions(GroupOptions):
    method: ClassVar[str] = "gdro"
    step: float = option(0.01, "Sagawa et al.; the Whac-A-Mole authors' code")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.step >= 0:
            raise InputError(f"learners.gdro.step is {self.step}: it must be at least 0")


@learners.register("gdro")
class GroupDRO(GroupLearner):
    """Groups are sampled equally often and weighted by their loss."""

    Options: ClassVar[type] = GDROOptions
    combines: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.weights = self._fresh()

    def _fresh(self) -> GroupWeights:
        n_groups = self.context.presentation.stream.n_outputs * 2 ** len(self.bits)
        return GroupWeights(n_groups, self.options.step, self.context.device)

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self.weights = self._fresh()
        self.weights.expect(to_device(self.groups_of(phase.train), self.context.device))

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        """Every group equally often, in an order determined by (seed, phase, epoch)."""
        draws = generator(self.context.seed, "order", phase.name, epoch)
        return balanced_batches(self.groups_of(phase.train), size, draws)

    def objective(self, batch: Batch) -> Tensor:
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
        losses = F.cross_entropy(logits, batch.labels, reduction="none")
        return self.weights.weighted(losses, to_device(self.groups_of(batch.raw), losses.device))

    def state_dict(self) -> dict[str, Any]:
        return self.weights.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights.load_state_dict(state)
