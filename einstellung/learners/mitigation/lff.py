"""Learning from failure, LfF (Nam et al., 2020).

Two nets are trained in parallel. The biased one minimises the generalised cross entropy GCE = (1 - p_y^q) / q, whose gradient
is that of the cross entropy times p_y^q: easy samples dominate, so that it relies on the shortcut. The other one, the result,
minimises the mean of W(x) CE(f(x), y) with

    W(x) = L_b(x) / (L_b(x) + L_d(x)),

large where the biased net fails. L_b and L_d are the two nets' cross entropies on x, smoothed over the times that x was seen
(L <- alpha L + (1 - alpha) CE, the first time L = CE) and divided by the largest smoothed one of its class.
Needs: nothing; the shortcut is inferred, weight by weight.

Differs from the original in that both nets start from the run's initial weights (the original initialises them independently;
here they diverge with the first step, as their losses differ), and in that the biased net's loss is GCE itself, where the
authors' code has an extra factor q. The largest smoothed loss of a class is the current one, as in the original; in
Whac-A-Mole's code it never decreases. In a later phase the biased net and the smoothed losses are reset; images replayed from
earlier phases have smoothed losses of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.identities import Identities
from einstellung.learners.mitigation.two_nets import TwoNets
from einstellung.learners.planning import Workload
from einstellung.modalities.transfer import to_device
from einstellung.streams.stream import Phase

_TINY = 1e-8  # keeps quotients of losses finite where a class is learned perfectly


@dataclass(frozen=True)
class LfFOptions:
    q: float = option(0.7, "Nam et al. (2020); the Whac-A-Mole authors' code")
    alpha: float = option(0.7, "the authors' code and that of Whac-A-Mole: how much of a smoothed loss stays")

    def __post_init__(self) -> None:
        if not 0 < self.q <= 1:
            raise InputError(f"learners.lff.q is {self.q}: it must be above 0 and at most 1")
        if not 0 <= self.alpha < 1:
            raise InputError(f"learners.lff.alpha is {self.alpha}: it must be at least 0 and below 1")


@learners.register("lff")
class LearningFromFailure(TwoNets):
    """Images on which a deliberately biased net fails count more."""

    Options: ClassVar[type] = LfFOptions
    workload: ClassVar[Workload] = Workload(step_cost=2.0)  # two nets
    combines: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._smoothed: dict[str, SmoothedLosses] = {}  # empty until a phase defines the images

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        seen = [one.train for one in (*self.context.earlier(phase), phase)]
        self._known = Identities(torch.cat([images.index for images in seen]))
        labels, device = torch.cat([images.labels for images in seen]), self.context.device
        self._smoothed = {name: SmoothedLosses(labels, self.options.alpha, device) for name in ("biased", "debiased")}

    def objective(self, batch: Batch) -> Tensor:
        with self.context.autocast():
            logits, biased_logits = self.net(batch.inputs).float(), self.second(batch.inputs).float()
        debiased = F.cross_entropy(logits, batch.labels, reduction="none")
        biased = F.cross_entropy(biased_logits, batch.labels, reduction="none")
        rows = to_device(self._known.rows(batch.raw.index), debiased.device)
        b = self._smoothed["biased"].update(rows, biased.detach())
        d = self._smoothed["debiased"].update(rows, debiased.detach())
        return (b / (b + d + _TINY) * debiased).mean() + generalised(biased, self.options.q).mean()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "losses": {name: of.state_dict() for name, of in self._smoothed.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        for name, of in self._smoothed.items():
            of.load_state_dict(state["losses"][name])


def generalised(cross_entropy: Tensor, q: float) -> Tensor:
    """The generalised cross entropy (Zhang and Sabuncu, 2018), (1 - p^q) / q, from the cross entropy -log p.

    >>> generalised(torch.tensor([0.5]).log().neg(), 1.0)  # q = 1: 1 - p
    tensor([0.5000])
    """
    return -torch.expm1(-q * cross_entropy) / q


class SmoothedLosses:
    """The losses of images with given labels, smoothed over the times that each was seen.

    >>> losses = SmoothedLosses(torch.tensor([0, 0, 1]), alpha=0.7)
    >>> losses.update(torch.tensor([0, 1]), torch.tensor([1.0, 2.0]))  # the first time as they are, by the class's largest
    tensor([0.5000, 1.0000])
    >>> losses.update(torch.tensor([0]), torch.tensor([11.0]))  # 0.7 x 1 + 0.3 x 11 = 4, now the largest itself
    tensor([1.])
    """

    def __init__(self, labels: Tensor, alpha: float, device: torch.device | str = "cpu") -> None:
        self.labels = labels.to(device)
        self.alpha = alpha
        self.losses = torch.zeros(len(labels), device=device)
        self.seen = torch.zeros(len(labels), dtype=torch.bool, device=device)
        self._none = torch.zeros(int(labels.max()) + 1, device=device)

    def update(self, rows: Tensor, losses: Tensor) -> Tensor:
        """Update with the losses of these images; returns their smoothed losses, divided by the largest one of their class."""
        smoothed = self.alpha * self.losses[rows] + (1 - self.alpha) * losses
        self.losses[rows] = torch.where(self.seen[rows], smoothed, losses)
        self.seen[rows] = True
        largest = self._none.scatter_reduce(0, self.labels, self.losses, "amax")
        return self.losses[rows] / largest[self.labels[rows]].clamp(min=_TINY)

    def state_dict(self) -> dict[str, Tensor]:
        return {"losses": self.losses, "seen": self.seen}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.losses.copy_(state["losses"])
        self.seen.copy_(state["seen"])
