"""Debiasing alternate networks, DebiAN (Li, Hoogs and Xu, 2022).

A discoverer D divides the images of every class into two groups, s(x) = sigmoid(D(x)_y) being how much x belongs to the first,
so that the classifier f performs as differently as possible on the two; f then puts more weight on the worse group. With
p(x) = softmax(f(x))_y, and per class of the batch the mean rates P1 = sum s p / sum s and P2 = sum (1 - s) p / sum (1 - s):

    D:  mean over classes of  -log |P1 - P2| - penalty log(1 - |mean s - mean (1 - s)|),
    f:  mean of (1 + w(x)) CE(f(x), y),   w = 1 - s where P1 > P2, else w = s.

The first term of D is the violation of equal opportunity, the second keeps it from putting all images into one group.
Needs: nothing; the groups are inferred, batch by batch.

Each step is one of f, with D as it is, and then one of D, with f as it then is; the net that does not learn is in evaluation
mode. Differs from the original in that D learns from the batch that f has just learned from, where the original goes through
the images a second time for it, in another order: so replayed images reach both nets, and every image counts.
Both nets begin the first phase with the weights of the run; D begins every later phase with them, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.two_nets import TwoNets
from einstellung.learners.planning import Workload

_EPS = 1e-6  # as in the authors' code: in every quotient and logarithm


@dataclass(frozen=True)
class DebiANOptions:
    penalty: float = option(1.0, "the authors' code and that of Whac-A-Mole: on groups of unequal size")

    def __post_init__(self) -> None:
        if self.penalty < 0:
            raise InputError(f"learners.debian.penalty is {self.penalty}: it must be at least 0")


@learners.register("debian")
class DebiasingAlternateNetworks(TwoNets):
    """Images of the group on which the classifier does worse, found by a second net, count up to twice as much."""

    Options: ClassVar[type] = DebiANOptions
    workload: ClassVar[Workload] = Workload(step_cost=2.0 + 2 / 3)  # a step and a forward pass of each net
    combines: ClassVar[bool] = True

    def observe(self, batch: Batch) -> Tensor:
        loss = self.step(self._classifier_loss(batch))
        self.step(self._discoverer_loss(batch))
        self.training_mode()
        return loss

    def _classifier_loss(self, batch: Batch) -> Tensor:
        self.second.eval()
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
            with torch.no_grad():
                assigned = _own(self.second(batch.inputs).float(), batch.labels).sigmoid()
        losses = F.cross_entropy(logits, batch.labels, reduction="none")
        confidence = _own(logits.detach().softmax(dim=1), batch.labels)
        return (weights(confidence, assigned, batch.labels, logits.shape[1]) * losses).mean()

    def _discoverer_loss(self, batch: Batch) -> Tensor:
        self.net.eval()
        self.second.train()
        with self.context.autocast():
            with torch.no_grad():
                confidence = _own(self.net(batch.inputs).float().softmax(dim=1), batch.labels)
            outputs = self.second(batch.inputs).float()
        assigned = _own(outputs, batch.labels).sigmoid()
        return violation(confidence, assigned, batch.labels, outputs.shape[1], self.options.penalty)


def weights(confidence: Tensor, assigned: Tensor, labels: Tensor, n_outputs: int) -> Tensor:
    """1 + how much an image belongs to the worse group of its class.

    ``confidence``: the probability given to each image's own class; ``assigned``: how much it belongs to the first group.

    >>> zero = torch.zeros(2, dtype=torch.long)
    >>> weights(torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.25]), zero, 2)
    tensor([1.0000, 1.7500])
    """
    first, second = _rates(confidence, assigned, labels, n_outputs)
    return 1 + torch.where((first > second)[labels], 1 - assigned, assigned)


def violation(confidence: Tensor, assigned: Tensor, labels: Tensor, n_outputs: int, penalty: float) -> Tensor:
    """What the discoverer minimises, a mean over the classes that are there.

    >>> one = torch.ones(2, dtype=torch.long)
    >>> round(float(violation(torch.tensor([0.9, 0.4]), torch.tensor([1.0, 0.0]), one, 2, 1.0)), 4)  # -log 0.5
    0.6931
    """
    first, second = _rates(confidence, assigned, labels, n_outputs)
    images = _sums(torch.ones_like(confidence), labels, n_outputs)
    share = _sums(assigned, labels, n_outputs) / images.clamp(min=1)
    unequal = -(_EPS + (first - second).abs()).log()
    one_sided = -(_EPS + 1 - (2 * share - 1).abs()).log()
    there = (images > 0).float()
    return ((unequal + penalty * one_sided) * there).sum() / there.sum()


def _rates(confidence: Tensor, assigned: Tensor, labels: Tensor, n_outputs: int) -> tuple[Tensor, Tensor]:
    """Per class, the mean probability of the right answer in either group."""
    first, second = (
        _sums(part * confidence, labels, n_outputs) / (_sums(part, labels, n_outputs) + _EPS)
        for part in (assigned, 1 - assigned)
    )
    return first, second


def _sums(values: Tensor, labels: Tensor, n_outputs: int) -> Tensor:
    return torch.zeros(n_outputs, dtype=values.dtype, device=values.device).index_add(0, labels, values)


def _own(values: Tensor, labels: Tensor) -> Tensor:
    """The value at each image's own class."""
    return values.gather(1, labels.unsqueeze(1)).squeeze(1)
