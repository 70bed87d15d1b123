"""Online elastic weight consolidation (Kirkpatrick et al., 2017; Schwarz et al., 2018).

After a phase: F <- gamma F + F_t, p* <- p, with F_t the mean over the phase's training images of the squared gradient of
log p(y | x) at the true label. Later: loss = CE + e_lambda sum_i F_i (p_i - p*_i)^2.

Differs from the original in that the Fisher information is empirical (true labels, not labels drawn from the net), and in
the penalty's factor, e_lambda instead of lambda / 2. Gradients are taken per sample, with batch norm in evaluation mode and
without augmentation.
``fisher = "mammoth"`` computes it as that framework's code does: augmented images in random order, one at a time in training
mode (batch norm sees one image and updates its running statistics), each square weighted by p(y | x), and the sum divided by
the number of batches times their size: less than the mean where the last batch is not full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.fisher import Shown, fisher_of_single_images, fisher_per_sample
from einstellung.learners.learner import Batch, Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.learners.selection import some_of
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class EWCOptions:
    e_lambda: float = option(1000.0, "the ERI experiment; Mammoth's choice for CIFAR-10 is 10")
    gamma: float = option(1.0, "Mammoth's choice for CIFAR-10")
    fisher: str = option(
        "per-sample", "Kirkpatrick et al. (2017) with true labels; 'mammoth': as that framework does it"
    )
    fisher_images: int | None = option(None, "ours; null: every training image of the phase")

    def __post_init__(self) -> None:
        for key in ("e_lambda", "gamma"):
            if not getattr(self, key) >= 0:
                raise InputError(f"learners.ewc_on.{key} is {getattr(self, key)}: it must be at least 0")
        if self.fisher not in ("per-sample", "mammoth"):
            raise InputError(f"learners.ewc_on.fisher is '{self.fisher}': give 'per-sample' or 'mammoth'")
        if self.fisher_images is not None and self.fisher_images < 1:
            raise InputError(f"learners.ewc_on.fisher_images is {self.fisher_images}: give at least 1, or null for all")


@dataclass(frozen=True)
class EWCWorkload(Workload):
    """Plain training, and the Fisher information at the end of a phase."""

    def closing_cost(self, options: EWCOptions, size: int) -> float:
        images = size if options.fisher_images is None else min(size, options.fisher_images)
        return (4.0 if options.fisher == "mammoth" else 1.5) * images  # one by one, or in batches


@learners.register("ewc_on")
class OnlineEWC(Learner):
    """Fine-tuning with a quadratic penalty on changes to weights that mattered for earlier phases."""

    Options: ClassVar[type] = EWCOptions
    workload: ClassVar[Workload] = EWCWorkload()

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fisher: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}
        self.latest_penalty = torch.zeros(
            (), device=self.context.device
        )  # e_lambda sum F (p - p*)^2 at the latest step

    def observe(self, batch: Batch) -> Tensor:
        loss = self.step(self.cross_entropy(batch.inputs, batch.labels))
        return loss + self.latest_penalty if self.fisher else loss

    @torch.no_grad()
    def adjust_gradients(self) -> None:
        """Add the penalty's gradient, 2 e_lambda F (p - p*), in closed form; its value is kept for the reported loss."""
        if not self.fisher:
            return
        weight, parts = self.options.e_lambda, []
        for name, parameter in self.net.named_parameters():
            fisher, move = self.fisher[name], parameter - self.anchor[name]
            parameter.grad.addcmul_(fisher, move, value=2 * weight)
            parts.append(move.square_().mul_(fisher).sum())  # in place: the system would zero new memory first
        self.latest_penalty = weight * torch.stack(parts).sum()

    def end_phase(self, phase: Phase) -> None:
        draws = generator(self.context.seed, "fisher", phase.name)
        images = some_of(phase.train, self.options.fisher_images, draws)
        if self.options.fisher == "mammoth":
            images = images.take(torch.randperm(len(images), generator=draws))
            labels = images.labels.to(self.context.device)
            fresh = fisher_of_single_images(self.net, self._augmented(images, phase), labels, self.context.batch_size)
        else:
            shown, labels = Shown(images, self.context), images.labels.to(self.context.device)
            fresh = fisher_per_sample(self.net, shown, labels, autocast=self.context.autocast)
        for name, value in fresh.items():
            self.fisher[name] = self.options.gamma * self.fisher[name] + value if name in self.fisher else value
        self.anchor = {name: parameter.detach().clone() for name, parameter in self.net.named_parameters()}

    def _augmented(self, images: ImageSet, phase: Phase) -> Iterator[Tensor]:
        """The images one by one, as training shows them."""
        augmentation, cue = (generator(self.context.seed, f"fisher-{what}", phase.name) for what in ("crop", "cue"))
        for row in torch.arange(len(images)).split(1):
            yield self.context.presentation.training(images.take(row), augmentation, cue)

    def state_dict(self) -> dict[str, Any]:
        return {"fisher": dict(self.fisher), "anchor": dict(self.anchor)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        device = self.context.device
        self.fisher, self.anchor = (
            {name: value.to(device) for name, value in state[key].items()} for key in ("fisher", "anchor")
        )
