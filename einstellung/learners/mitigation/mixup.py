"""Mixup (Zhang et al., 2018).

lambda ~ Beta(alpha, alpha), one for a batch; x~ = lambda x + (1 - lambda) x', x' the image before x in the batch (the batch
rolled by one); loss = lambda CE(f(x~), y) + (1 - lambda) CE(f(x~), y').
Needs: nothing. Differs from the original, as the Whac-A-Mole paper's code does, in that the partners are neighbours of a
batch in random order, which is equivalent to a random partner. With replay, replayed images follow the batch, so that new
images are mixed with new ones and old ones with old ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.augmented import require_above_zero
from einstellung.learners.mitigation.mixing import MixingLearner


@dataclass(frozen=True)
class MixupOptions:
    alpha: float = option(0.1, "the Whac-A-Mole paper's code")

    def __post_init__(self) -> None:
        require_above_zero("mixup", self, "alpha")


@learners.register("mixup")
class Mixup(MixingLearner):
    """Weighted means of two images and of their labels."""

    Options: ClassVar[type] = MixupOptions
    method: ClassVar[str] = "mixup"
    needs_pictures: ClassVar[bool] = False
    modalities: ClassVar[tuple[str, ...]] = ("image", "series")  # there is no mean of two words

    def mixed(self, inputs: Tensor, share: float, draws: torch.Generator) -> tuple[Tensor, float]:
        return share * inputs + (1 - share) * inputs.roll(1, 0), share
