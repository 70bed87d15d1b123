"""What Mixup and CutMix have in common: every image of a batch is mixed with a partner, and so are their labels.

The partner of an image is the one before it in the batch (the batch rolled by one). With the share ``kept`` of the image
itself, the same for a whole batch, loss = kept CE(f(x~), y) + (1 - kept) CE(f(x~), y'): the cross entropy with the label
kept y + (1 - kept) y'.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.learners.learner import Batch
from einstellung.learners.mitigation.augmented import AugmentedLearner


def dirichlet(alpha: float, shares: int, count: int, draws: torch.Generator) -> Tensor:
    """``count`` rows of ``shares`` numbers that add up to 1, from the symmetric Dirichlet distribution.

    The first of two shares has the distribution Beta(alpha, alpha).

    >>> dirichlet(0.1, 2, 5, torch.Generator().manual_seed(0)).sum(dim=1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    # in double precision: with a small alpha, one share is often below what single precision can hold
    concentration = torch.full((count, shares), alpha, dtype=torch.float64)
    return torch._sample_dirichlet(concentration, draws)


class MixingLearner(AugmentedLearner):
    """A learner of images mixed with others of their batch; a method defines how."""

    def objective(self, batch: Batch) -> Tensor:
        share = float(dirichlet(self.options.alpha, 2, 1, self.draws)[0, 0])
        inputs, kept = self.mixed(batch.inputs, share, self.draws)
        with self.context.autocast():
            logits = self.net(inputs).float()
        own, other = F.cross_entropy(logits, batch.labels), F.cross_entropy(logits, batch.labels.roll(1))
        return kept * own + (1 - kept) * other

    def mixed(self, inputs: Tensor, share: float, draws: torch.Generator) -> tuple[Tensor, float]:
        """The mixed images, and which share of each is its own; ``share`` is the drawn one."""
        raise NotImplementedError


def box_around(row: int, col: int, area: float, height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, bottom, right of a box with the image's form and a share ``area`` of it, cut off where it reaches out.

    >>> box_around(4, 4, area=0.25, height=8, width=8)
    (2, 2, 6, 6)
    >>> box_around(0, 7, area=0.25, height=8, width=8)
    (0, 5, 2, 8)
    """
    half = 0.5 * area**0.5
    high, wide = int(half * height), int(half * width)
    return max(row - high, 0), max(col - wide, 0), min(row + high, height), min(col + wide, width)
