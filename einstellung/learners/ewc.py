"""Elastic weight consolidation, EWC (Kirkpatrick et al., 2017), with a separate penalty for every earlier phase.

After phase s: F_s, the mean over its training images of the squared gradient of log p(y | x) at the true label, and the weights
p*_s. Later: loss = CE + e_lambda sum_s sum_i F_s,i (p_i - p*_s,i)^2.

Differs from the original in that the Fisher information is empirical (true labels, not labels drawn from the net), and in the
penalty's factor, e_lambda instead of lambda / 2, as in ``ewc_on`` and in Avalanche's mode 'separate'. That mode squares the mean
gradient of a batch; here every image's gradient is squared, with batch norm in evaluation mode and without augmentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.fisher import Shown, fisher_per_sample
from einstellung.learners.learner import Batch, Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.learners.selection import some_of
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class SeparateEWCOptions:
    e_lambda: float = option(1.0, "the ConCon paper")
    fisher_images: int | None = option(None, "ours; null: every training image of the phase")

    def __post_init__(self) -> None:
        if not self.e_lambda >= 0:
            raise InputError(f"learners.ewc.e_lambda is {self.e_lambda}: it must be at least 0")
        if self.fisher_images is not None and self.fisher_images < 1:
            raise InputError(f"learners.ewc.fisher_images is {self.fisher_images}: give at least 1, or null for all")


@dataclass(frozen=True)
class SeparateEWCWorkload(Workload):
    """Plain training, and the Fisher information at the end of a phase."""

    def closing_cost(self, options: SeparateEWCOptions, size: int) -> float:
        return 1.5 * (size if options.fisher_images is None else min(size, options.fisher_images))


@learners.register("ewc")
class ElasticWeightConsolidation(Learner):
    """Fine-tuning with one quadratic penalty for each earlier phase, towards its final weights."""

    Options: ClassVar[type] = SeparateEWCOptions
    workload: ClassVar[Workload] = SeparateEWCWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fishers: dict[str, dict[str, Tensor]] = {}  # by phase
        self.anchors: dict[str, dict[str, Tensor]] = {}
        self.latest_penalty = torch.zeros((), device=self.context.device)  # at the latest step

    def observe(self, batch: Batch) -> Tensor:
        loss = self.step(self.cross_entropy(batch.inputs, batch.labels))
        return loss + self.latest_penalty if self.fishers else loss

    @torch.no_grad()
    def adjust_gradients(self) -> None:
        """Add the penalties' gradient, 2 e_lambda sum_s F_s (p - p*_s), in closed form; keep their value for the loss."""
        if not self.fishers:
            return
        weight, parts = self.options.e_lambda, []
        for name, parameter in self.net.named_parameters():
            assert parameter.grad is not None
            for phase, fisher in self.fishers.items():
                move = parameter - self.anchors[phase][name]
                parameter.grad.addcmul_(fisher[name], move, value=2 * weight)
                parts.append(move.square_().mul_(fisher[name]).sum())
        self.latest_penalty = weight * torch.stack(parts).sum()

    def end_phase(self, phase: Phase) -> None:
        draws = generator(self.context.seed, "fisher", phase.name)
        images = some_of(phase.train, self.options.fisher_images, draws)
        shown, labels = Shown(images, self.context), images.labels.to(self.context.device)
        self.fishers[phase.name] = fisher_per_sample(self.net, shown, labels, autocast=self.context.autocast)
        self.anchors[phase.name] = {name: value.detach().clone() for name, value in self.net.named_parameters()}

    def state_dict(self) -> dict[str, Any]:
        return {"fishers": self.fishers, "anchors": self.anchors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        device = self.context.device
        known = [phase.name for phase in self.context.phases if phase.name in state["fishers"]]  # sums go in this order
        self.fishers, self.anchors = (
            {phase: {name: value.to(device) for name, value in state[key][phase].items()} for phase in known}
            for key in ("fishers", "anchors")
        )
