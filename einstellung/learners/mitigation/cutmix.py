"""CutMix (Yun et al., 2019).

lambda ~ Beta(alpha, alpha), one for a batch; a box with the image's form and (1 - lambda) of its area around a pixel drawn
uniformly, cut off at the image's edges, is filled with the same box of the image before in the batch (the batch rolled by
one). lambda is then set to the share of the image that was kept: loss = lambda CE(f(x~), y) + (1 - lambda) CE(f(x~), y').
Needs: nothing. Differs from the original, as the Whac-A-Mole paper's code does, in that the partners are neighbours of a
batch in random order, and in that every batch is mixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.augmented import require_above_zero
from einstellung.learners.mitigation.mixing import MixingLearner, box_around


@dataclass(frozen=True)
class CutMixOptions:
    alpha: float = option(1.0, "the paper and the Whac-A-Mole paper's code")

    def __post_init__(self) -> None:
        require_above_zero("cutmix", self, "alpha")


@learners.register("cutmix")
class CutMix(MixingLearner):
    """A box of another image in every image, and the same share of its label."""

    Options: ClassVar[type] = CutMixOptions
    method: ClassVar[str] = "cutmix"

    def mixed(self, inputs: Tensor, share: float, draws: torch.Generator) -> tuple[Tensor, float]:
        height, width = inputs.shape[-2:]
        row, col = (int(torch.randint(side, (), generator=draws)) for side in (height, width))
        top, left, bottom, right = box_around(row, col, 1 - share, height, width)
        mixed = inputs.clone()
        mixed[..., top:bottom, left:right] = inputs.roll(1, 0)[..., top:bottom, left:right]
        return mixed, 1 - (bottom - top) * (right - left) / (height * width)
