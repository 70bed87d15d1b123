"""Functional regularisation of the memorable past, FROMP (Pan et al., 2020).

After a phase: its memorable points are the training images with the largest scores. The curvature of the phase's images is
added to that of the phases before: Sigma = 1 / (curvature + prior), see :mod:`einstellung.learners.laplace`. For the memorable
points of every phase s so far, with the net as it is: the probabilities m*_s, and the kernels K_s,c = J_c Sigma J_c^T + jitter I,
J_c being the Jacobian of output c's probability. Later, with m_s the probabilities that the net gives them now, in evaluation
mode, loss = CE + tau/2 sum_s sum_c (m_s,c - m*_s,c)^T K_s,c^-1 (m_s,c - m*_s,c). With ``joined`` the points go through the net
along with the batch, in training mode. The authors' nets have no batch norm. A net with batch norm normalises the batch by its
own statistics and the points, in evaluation mode, by running ones, so the loss and the penalty see different statistics.
The targets m* and K are always computed in evaluation mode: at the end of a phase there is no batch.

Scores: ``choice = "lambda"``, tr Lambda, as in the authors' code; ``"leverage"``, tr(Lambda J Sigma J^T), the leverage in
Laplace's approximation. Equally many points are chosen from each class, as in the authors' code.

Differs from the original in that the buffer is one for all phases, shared evenly by those seen (a phase keeps its points with
the largest scores when others join), and in that all classes share one head. The authors divide the data's term by tau and clip
the gradient of the sum, in the first phase too: at 100 for Split CIFAR, with their tau of 10 1000 here, and at 0.1 for Split
MNIST, 1 here. ConCon's tasks, which are solved to the last image, are learned with the smaller clip and not with the larger one
(studies/concon). Our interpretation: where a net is confident about its points, a small loss of confidence is a huge penalty,
and Adam, which divides by recent gradient magnitudes, then learns little from the batch for a long time. With ``draw``, a step
uses a subset B of the M points with K_BB^-1, that of the Gaussian process's marginal, and weights the sum by M / |B|. ``joined``
is ours, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.fisher import Shown
from einstellung.learners.laplace import curvature, kernels, leverages, probabilities, uncertainties
from einstellung.learners.learner import Batch, Learner, Stage, learners, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.selection import some_of
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class FROMPOptions:
    buffer: int = option(100, "the ConCon paper")
    tau: float = option(10.0, "the authors' code for Split CIFAR")
    prior: float = option(1e-4, "the authors' code for Split CIFAR: the weights' prior precision")
    jitter: float = option(1e-6, "the authors' code for Split CIFAR: on the kernels' diagonal")
    choice: str = option("lambda", "the authors' code; 'leverage': Laplace's, a gradient for every image and output")
    draw: int | None = option(None, "ours; null, as in the authors' code: every memorable point in every step")
    joined: bool = option(False, "the authors' code; true: points and batch in one pass, batch norm over both")
    clip: float | None = option(1000.0, "the authors' code for Split CIFAR: gradient norm clipping; null: none")
    curvature_images: int | None = option(None, "ours; null, as in the authors' code: every training image")
    epochs: int | None = option(None, "ours; null: as for other methods; the ConCon paper uses 30 where others use 50")

    def __post_init__(self) -> None:
        if self.choice not in ("lambda", "leverage"):
            raise InputError(f"learners.fromp.choice is '{self.choice}': give 'lambda' or 'leverage'")
        for key in ("buffer", "draw", "curvature_images", "epochs"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise InputError(f"learners.fromp.{key} is {value}: it must be at least 1")
        for key in ("prior", "jitter", "clip"):
            value = getattr(self, key)
            if value is not None and not value > 0:
                raise InputError(f"learners.fromp.{key} is {value}: it must be above 0")
        if not self.tau >= 0:
            raise InputError(f"learners.fromp.tau is {self.tau}: it must be at least 0")


@dataclass(frozen=True)
class FROMPWorkload(Workload):
    """The memorable points of a step, and at the end of a phase its curvature, scores and kernels."""

    def extra_images_per_step(
        self, options: FROMPOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        return float(min(options.buffer, sum(sizes[:number]), options.draw or options.buffer))

    def closing_cost(self, options: FROMPOptions, size: int) -> float:
        """For two outputs: batches for the curvature, then one image at a time."""
        images = size if options.curvature_images is None else min(size, options.curvature_images)
        alone = min(size, options.buffer) + (size if options.choice == "leverage" else 0)
        return 2 * (1.5 * images + 2.5 * alone)


@learners.register("fromp")
class FunctionalRegularisation(Learner):
    """Fine-tuning that keeps the net's predictions on the memorable points of earlier phases."""

    Options: ClassVar[type] = FROMPOptions
    workload: ClassVar[Workload] = FROMPWorkload()

    @classmethod
    def shares_first_phase(cls, options: FROMPOptions) -> bool:
        return options.epochs is None and options.clip is None

    @classmethod
    def stages(
        cls, options: FROMPOptions, sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        return (Stage(TRAIN, float(options.epochs or epochs[number])),)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if (least := len(self.context.phases) - 1) > self.options.buffer:
            raise InputError(
                f"learners.fromp.buffer is {self.options.buffer}: give at least one for each of {least} phases"
            )
        self.memorable: dict[str, Tensor] = {}  # rows of each earlier phase, from the most memorable one on
        self.curvature: dict[str, Tensor] = {}
        self.kernels = torch.empty(0)  # [C, M, M] over all memorable points, on the CPU; 0 between those of two phases
        self.means = torch.empty(0)  # [M, C]

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        if self.memorable:
            self._inputs = self.context.presentation.unaugmented(self._points())
            self._inverses = to_device(inverses(self.kernels), self.context.device)

    def _points(self) -> ImageSet:
        phases = {phase.name: phase for phase in self.context.phases}
        return ImageSet.joined([phases[name].train.take(rows) for name, rows in self.memorable.items()])

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self._draws = generator(self.context.seed, "memorable", phase.name, epoch)

    def objective(self, batch: Batch) -> Tensor:
        if self.memorable and self.options.joined:
            return self._joined(batch)
        loss = self.cross_entropy(batch.inputs, batch.labels)
        return loss + self.penalty() if self.memorable else loss

    def penalty(self) -> Tensor:
        """tau/2 sum_c (m_c - m*_c)^T K_c^-1 (m_c - m*_c), over all memorable points or a draw of them, in evaluation mode."""
        inputs, means, inverse = self._drawn()
        self.net.eval()
        logits = self.net(inputs)
        self.training_mode()
        return self._pull(logits, means, inverse)

    def _joined(self, batch: Batch) -> Tensor:
        """Cross entropy of the batch and the penalty of the points in the same pass, all in full precision."""
        inputs, means, inverse = self._drawn()
        logits = self.net(torch.cat((batch.inputs, inputs)))
        count = len(batch.inputs)
        return F.cross_entropy(logits[:count].float(), batch.labels) + self._pull(logits[count:], means, inverse)

    def _drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """The inputs of a step's memorable points, with m* and K^-1."""
        count = len(self.means)
        if self.options.draw is None or self.options.draw >= count:
            return self._inputs, self.means, self._inverses
        rows = torch.randperm(count, generator=self._draws)[: self.options.draw]
        inverse = to_device(inverses(self.kernels[:, rows][:, :, rows]), self.context.device)
        rows = to_device(rows, self.context.device)
        return self._inputs[rows], self.means[rows], inverse

    def _pull(self, logits: Tensor, means: Tensor, inverse: Tensor) -> Tensor:
        """In full precision: where the net is confident, kernels are small and their inverses huge."""
        change = (logits.float().softmax(dim=1) - means).T.unsqueeze(1)  # [C, 1, points]
        distance: Tensor = (change @ inverse @ change.transpose(1, 2)).sum()
        return distance.mul(self.options.tau / 2 * len(self.means) / len(means))

    def adjust_gradients(self) -> None:
        if self.options.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.options.clip)

    def end_phase(self, phase: Phase) -> None:
        self.context.report_progress(f"curvature of {phase.name}")
        self._add_curvature(phase)
        self.context.report_progress(f"memorable points of {phase.name}")
        self.memorable[phase.name] = ranked_by_class(self._scores(phase.train).cpu(), phase.train.labels)
        share = self.options.buffer // len(self.memorable)
        self.memorable = {name: rows[:share].clone() for name, rows in self.memorable.items()}
        covariance = self._covariance()
        inputs = self.context.presentation.unaugmented(self._points())
        parts, start = [], 0
        for rows in self.memorable.values():
            parts.append(kernels(self.net, inputs[start : start + len(rows)], covariance))
            start += len(rows)
        self.kernels = torch.stack([torch.block_diag(*of_output) for of_output in zip(*parts, strict=True)])
        self.kernels += self.options.jitter * torch.eye(start, dtype=self.kernels.dtype)
        self.means = probabilities(self.net, inputs, start)

    def _add_curvature(self, phase: Phase) -> None:
        draws = generator(self.context.seed, "curvature", phase.name)
        images = some_of(phase.train, self.options.curvature_images, draws)
        n_outputs = self.context.presentation.stream.n_outputs
        fresh = curvature(self.net, Shown(images, self.context), len(images), n_outputs, autocast=self.context.autocast)
        whole = len(phase.train) / len(images)
        for name, value in fresh.items():
            self.curvature[name] = self.curvature.get(name, 0.0) + whole * value

    def _covariance(self) -> dict[str, Tensor]:
        return {name: 1 / (value + self.options.prior) for name, value in self.curvature.items()}

    def _scores(self, images: ImageSet) -> Tensor:
        shown = Shown(images, self.context)
        if self.options.choice == "leverage":
            return leverages(self.net, shown, len(images), self._covariance())
        return uncertainties(self.net, shown, len(images))

    def state_dict(self) -> dict[str, Any]:
        if not self.memorable:
            return {}
        return {
            "memorable": self.memorable,
            "curvature": self.curvature,
            "kernels": self.kernels,
            "means": self.means,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if not state:
            return
        device = self.context.device
        known = [phase.name for phase in self.context.phases if phase.name in state["memorable"]]
        self.memorable = {name: state["memorable"][name] for name in known}  # in the kernels' order
        self.curvature = {name: value.to(device) for name, value in state["curvature"].items()}
        self.kernels = state["kernels"]
        self.means = state["means"].to(device)


def ranked_by_class(scores: Tensor, labels: Tensor) -> Tensor:
    """All rows: first every class's highest score, then every class's second, ...; the higher score first within a rank.

    >>> ranked_by_class(torch.tensor([0.9, 0.8, 0.7, 0.1, 0.3]), torch.tensor([0, 0, 0, 1, 1])).tolist()
    [0, 4, 1, 3, 2]
    """
    order = scores.argsort(descending=True, stable=True)
    ranks = torch.empty_like(order)
    for label in labels.unique():
        own = order[labels[order] == label]
        ranks[own] = torch.arange(len(own))
    return order[ranks[order].argsort(stable=True)]


def inverses(matrices: Tensor) -> Tensor:
    """Of positive definite matrices [C, M, M] in double, in single precision.

    >>> inverses(torch.tensor([[[4.0, 2.0], [2.0, 2.0]]], dtype=torch.float64))
    tensor([[[ 0.5000, -0.5000],
             [-0.5000,  1.0000]]])
    """
    return torch.cholesky_inverse(torch.linalg.cholesky(matrices)).float()
