"""AugMix (Hendrycks et al., 2020).

Two views of every image: chains of one to three operations drawn at random (autocontrast, equalise, posterise, rotate,
solarise, shear and translate in both directions), ``width`` of them mixed by w ~ Dirichlet(1), and that mixed with the image
by m ~ Beta(1, 1): x' = (1 - m) x + m sum_i w_i chain_i(x). The level of every operation is uniform in [.1, severity].
loss = CE(f(x), y) + weight JSD(p(x), p(x'), p(x'')), all three in one pass; JSD = mean of the KL divergences of the three
predictions from their mean, which is kept above 1e-7.
Needs: nothing. Differs from the original in nothing but the size of a shift, a share of the image's own side, as in the
Whac-A-Mole paper's code. The three views are one crop and flip of the raw image, drawn by the method itself; the operations
come between these and normalisation, and a planted cue before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.augmented import AugmentedLearner
from einstellung.learners.mitigation.augmix_operations import OPERATIONS
from einstellung.learners.mitigation.mixing import dirichlet
from einstellung.learners.planning import Workload

DEPTH, LEAST_LEVEL = 3, 0.1


@dataclass(frozen=True)
class AugMixOptions:
    width: int = option(3, "the authors' code and the Whac-A-Mole paper's")
    severity: float = option(1.0, "the Whac-A-Mole paper's code; the authors' is 3 for small images")
    weight: float = option(12.0, "the authors' code and the Whac-A-Mole paper's")

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(f"learners.augmix.width is {self.width}: it must be at least 1")
        if not LEAST_LEVEL <= self.severity <= 10:
            raise InputError(
                f"learners.augmix.severity is {self.severity}: it must lie between {LEAST_LEVEL} and 10, the highest level"
            )
        if not self.weight >= 0:
            raise InputError(f"learners.augmix.weight is {self.weight}: it must be at least 0")


def chained(pixels: Tensor, severity: float, draws: torch.Generator) -> Tensor:
    """Every image (uint8) after one to three operations, each drawn for itself."""
    count = len(pixels)
    depth = torch.randint(1, DEPTH + 1, (count,), generator=draws)
    chosen = torch.randint(len(OPERATIONS), (DEPTH, count), generator=draws)
    levels, signs = torch.rand(2, DEPTH, count, generator=draws, dtype=torch.float64)
    levels, signs = LEAST_LEVEL + (severity - LEAST_LEVEL) * levels, torch.where(signs < 0.5, 1.0, -1.0).double()
    pixels = pixels.clone()
    for place in range(DEPTH):
        for number, operation in enumerate(OPERATIONS):
            rows = ((depth > place) & (chosen[place] == number)).nonzero().flatten()
            if len(rows):
                pixels[rows] = operation(pixels[rows], levels[place, rows], signs[place, rows])
    return pixels


def mixed_view(pixels: Tensor, width: int, severity: float, draws: torch.Generator) -> Tensor:
    """Every image mixed with ``width`` chains of operations on itself: floats between 0 and 255."""
    count = len(pixels)
    weights = dirichlet(1.0, width, count, draws).float().view(count, width, 1, 1, 1)
    share = dirichlet(1.0, 2, count, draws)[:, 0].float().view(count, 1, 1, 1)
    chains = chained(pixels.repeat_interleave(width, dim=0), severity, draws).view(count, width, *pixels.shape[1:])
    return (1 - share) * pixels + share * (weights * chains).sum(dim=1)


def jensen_shannon(logits: Sequence[Tensor]) -> Tensor:
    """Mean over images of the mean divergence of predictions from their mean, which is kept above 1e-7.

    >>> certain = torch.tensor([[0.0, 100.0]])
    >>> f"{float(jensen_shannon((certain, certain.flip(1)))):.4f}"  # log 2
    '0.6931'
    """
    predictions = [one.softmax(dim=1) for one in logits]
    mixture = torch.stack(predictions).mean(dim=0).clamp(1e-7, 1).log()
    return torch.stack([F.kl_div(mixture, one, reduction="batchmean") for one in predictions]).mean()


@learners.register("augmix")
class AugMix(AugmentedLearner):
    """Consistent predictions for an image and two augmented views of it."""

    Options: ClassVar[type] = AugMixOptions
    workload: ClassVar[Workload] = Workload(step_cost=3.5)  # three passes, and the views
    method: ClassVar[str] = "augmix"

    def objective(self, batch: Batch) -> Tensor:
        presentation, options = self.context.presentation, self.options
        pixels = presentation.training_pixels(batch.raw, self.augmentation, self.cue)
        views = [mixed_view(pixels, options.width, options.severity, self.draws) for _ in range(2)]
        inputs = torch.cat([presentation.normalised(one) for one in (pixels, *views)])
        with self.context.autocast():
            logits = self.net(inputs).float().chunk(3)
        apart: Tensor = options.weight * jensen_shannon(logits)
        return F.cross_entropy(logits[0], batch.labels) + apart
