"""Online elastic weight consolidation (Kirkpatrick et al., 2017; Schwarz et al., 2018).

After a phase: F <- gamma F + F_t, p* <- p, with F_t the mean over the phase's training images of the squared gradient of
log p(y | x) at the true label. Later: loss = CE + e_lambda sum_i F_i (p_i - p*_i)^2.

Differs from the original in that the Fisher information is empirical (true labels, not labels drawn from the net), and in
the penalty's factor, e_lambda instead of lambda / 2. Gradients are taken per sample, with batch norm in evaluation mode and
without augmentation.
``fisher = "mammoth"`` computes it as that framework does: batches of one in training mode, each square weighted by p(y | x).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Context, Learner, learners, option
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase

_GRADIENTS = 2**26  # numbers of single images' gradients held at a time: 256 MB


@dataclass(frozen=True)
class EWCOptions:
    e_lambda: float = option(1000.0, "the ERI experiment; Mammoth's choice for CIFAR-10 is 10")
    gamma: float = option(1.0, "Mammoth's choice for CIFAR-10")
    fisher: str = option(
        "per-sample", "Kirkpatrick et al. (2017) with true labels; 'mammoth': as that framework does it"
    )
    fisher_images: int | None = option(None, "ours; null: every training image of the phase")

    def __post_init__(self) -> None:
        if self.fisher not in ("per-sample", "mammoth"):
            raise InputError(f"learners.ewc_on.fisher is '{self.fisher}': give 'per-sample' or 'mammoth'")
        if self.fisher_images is not None and self.fisher_images < 1:
            raise InputError(f"learners.ewc_on.fisher_images is {self.fisher_images}: give at least 1, or null for all")


@learners.register("ewc_on")
class OnlineEWC(Learner):
    """Fine-tuning with a quadratic pull towards the weights that mattered before."""

    Options: ClassVar[type] = EWCOptions

    @classmethod
    def closing_cost(cls, options: EWCOptions, size: int) -> float:
        images = size if options.fisher_images is None else min(size, options.fisher_images)
        return 4.0 * images  # gradients of single images

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fisher: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}

    def observe(self, batch: Batch) -> Tensor:
        penalty = self.penalty()
        return self.step(self.cross_entropy(batch.inputs, batch.labels)) + penalty

    def penalty(self) -> Tensor:
        """e_lambda sum F (p - p*)^2."""
        total = torch.zeros((), device=self.context.device)
        if self.fisher:
            with torch.no_grad():
                for name, parameter in self.net.named_parameters():
                    total += (self.fisher[name] * (parameter - self.anchor[name]) ** 2).sum()
        return self.options.e_lambda * total

    @torch.no_grad()
    def adjust_gradients(self) -> None:
        """Add the penalty's gradient, 2 e_lambda F (p - p*), in closed form."""
        if not self.fisher:
            return
        for name, parameter in self.net.named_parameters():
            parameter.grad.addcmul_(self.fisher[name], parameter - self.anchor[name], value=2 * self.options.e_lambda)

    def end_phase(self, phase: Phase) -> None:
        measure = fisher_of_single_images if self.options.fisher == "mammoth" else fisher_per_sample
        images = _some(phase.train, self.options.fisher_images, self.context.seed, phase.name)
        fresh = measure(self.net, Shown(images, self.context), images.labels.to(self.context.device))
        for name, value in fresh.items():
            self.fisher[name] = self.options.gamma * self.fisher[name] + value if name in self.fisher else value
        self.anchor = {name: parameter.detach().clone() for name, parameter in self.net.named_parameters()}

    def state_dict(self) -> dict[str, Any]:
        return {"fisher": dict(self.fisher), "anchor": dict(self.anchor)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        device = self.context.device
        self.fisher, self.anchor = (
            {name: value.to(device) for name, value in state[key].items()} for key in ("fisher", "anchor")
        )


@dataclass(frozen=True)
class Shown:
    """Images as the net sees them, a slice at a time: all of a phase at once may not fit into memory."""

    images: ImageSet
    context: Context

    def __getitem__(self, rows: slice) -> Tensor:
        some = self.images.take(torch.arange(len(self.images))[rows])
        return self.context.presentation.unaugmented(some)


def _some(train: ImageSet, count: int | None, seed: int, phase: str) -> ImageSet:
    if count is None or count >= len(train):
        return train
    return train.take(torch.randperm(len(train), generator=generator(seed, "fisher", phase))[:count])


def images_at_a_time(net: nn.Module, most: int = 32) -> int:
    """How many images' gradients are held together: up to ``most``, fewer where a net is large.

    >>> images_at_a_time(nn.Linear(10, 10)), images_at_a_time(nn.Linear(4000, 2000))
    (32, 8)
    """
    return max(1, min(most, _GRADIENTS // sum(parameter.numel() for parameter in net.parameters())))


def fisher_per_sample(
    net: nn.Module, inputs: Tensor | Shown, labels: Tensor, chunk: int | None = None
) -> dict[str, Tensor]:
    """mean_i (d log p(y_i | x_i) / d theta)^2, the gradients of a chunk of images at a time."""
    chunk = chunk or images_at_a_time(net)
    was_training = net.training
    net.eval()
    weights = {name: parameter.detach() for name, parameter in net.named_parameters()}
    buffers = dict(net.named_buffers())

    def log_likelihood(weights: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(net, (weights, buffers), (image.unsqueeze(0),))
        return -F.cross_entropy(logits, label.unsqueeze(0))

    per_sample = vmap(grad(log_likelihood), in_dims=(None, 0, 0))
    total = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for start in range(0, len(labels), chunk):
        with sdpa_kernel(SDPBackend.MATH):  # the fused kernels of attention are not made for gradients of single images
            gradients = per_sample(weights, inputs[start : start + chunk], labels[start : start + chunk])
        for name, gradient in gradients.items():
            total[name] += gradient.square().sum(dim=0)
    net.train(was_training)
    return {name: value / len(labels) for name, value in total.items()}


def fisher_of_single_images(net: nn.Module, inputs: Tensor | Shown, labels: Tensor) -> dict[str, Tensor]:
    """mean_i p(y_i | x_i) (d log p(y_i | x_i) / d theta)^2, one image at a time in training mode."""
    was_training = net.training
    net.train()
    parameters = dict(net.named_parameters())
    total = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for row in range(len(labels)):
        log_likelihood = -F.cross_entropy(net(inputs[row : row + 1]), labels[row : row + 1])
        gradients = torch.autograd.grad(log_likelihood, list(parameters.values()))
        for name, gradient in zip(parameters, gradients, strict=True):
            total[name] += log_likelihood.detach().exp() * gradient.square()
    net.train(was_training)
    return {name: value.detach() / len(labels) for name, value in total.items()}
