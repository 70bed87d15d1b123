"""Cutout as random erasing (DeVries and Taylor, 2017; Zhong et al., 2020).

With probability p a box of an image is filled with the colour that is 0 after normalisation. Its area is uniform in
[.02, .33] of the image, its height over its width is exp(u), u uniform in [log .3, log 3.3], its place is uniform among those
where it lies within the image. A box that is as high or as wide as the image is drawn again, up to ten times in all; then the
image stays as it is. loss = CE(f(x~), y).
Needs: nothing. Differs from DeVries and Taylor's, as the Whac-A-Mole paper's code does, in just these rules, which are those
of the common implementation of random erasing (torchvision).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.augmented import AugmentedLearner, require_share
from einstellung.modalities.transfer import to_device

AREA, ASPECT, ATTEMPTS = (0.02, 0.33), (0.3, 3.3), 10


@dataclass(frozen=True)
class CutoutOptions:
    p: float = option(0.1, "the Whac-A-Mole paper's code")

    def __post_init__(self) -> None:
        require_share("cutout", self, "p")


def erased_boxes(count: int, height: int, width: int, p: float, draws: torch.Generator) -> Tensor:
    """What is erased of ``count`` images: bool [N, 1, H, W]."""
    chosen = torch.rand(count, generator=draws) < p
    area, aspect, down, across = torch.rand(4, count, ATTEMPTS, generator=draws)
    area = (AREA[0] + (AREA[1] - AREA[0]) * area) * height * width
    aspect = (math.log(ASPECT[0]) + math.log(ASPECT[1] / ASPECT[0]) * aspect).exp()
    high, wide = (area * aspect).sqrt().round().long(), (area / aspect).sqrt().round().long()
    fits = (high < height) & (wide < width)
    first = fits.int().argmax(dim=1, keepdim=True)  # 0 where none fits; ``fits`` excludes that below
    high, wide, down, across, fits = (values.gather(1, first) for values in (high, wide, down, across, fits))
    top = (down * (height - high + 1)).long()
    left = (across * (width - wide + 1)).long()
    rows, cols = torch.arange(height), torch.arange(width)
    in_rows = (rows >= top) & (rows < top + high)
    in_cols = (cols >= left) & (cols < left + wide)
    erased: Tensor = in_rows.unsqueeze(2) & in_cols.unsqueeze(1) & (fits & chosen.unsqueeze(1)).unsqueeze(2)
    return erased.unsqueeze(1)


@learners.register("cutout")
class Cutout(AugmentedLearner):
    """Some images with a box erased."""

    Options: ClassVar[type] = CutoutOptions
    method: ClassVar[str] = "cutout"

    def objective(self, batch: Batch) -> Tensor:
        count, _, height, width = batch.inputs.shape
        erased = erased_boxes(count, height, width, self.options.p, self.draws)
        return self.cross_entropy(batch.inputs.masked_fill(to_device(erased, batch.inputs.device), 0.0), batch.labels)
