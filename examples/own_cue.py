"""A cue of one's own: a coloured stripe down one side. Batches of uint8 images [N, 3, H, W]; index = who is who."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from einstellung.cues import cues
from einstellung.errors import InputError


@cues.register("stripe")
@dataclass(frozen=True)
class StripeCue:
    """A stripe ``width`` pixels wide, on a ``share`` of the cue classes' training images (the stream chooses which)."""

    width: int = 1
    colour: tuple[int, int, int] = (255, 255, 0)
    side: Literal["left", "right"] = "left"
    share: float = 1.0

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """A copy of ``images`` with the cue in each. Whatever is random comes from ``generator`` (given in training only)."""
        colour = torch.tensor(self.colour, dtype=torch.uint8).view(1, 3, 1, 1)
        return torch.where(self.region(index, *images.shape[-2:]), colour, images)

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        """The pixels that :meth:`paint` changes, no more and no fewer: bool [N, 1, H, W]. The stream's proof checks it."""
        if not 1 <= self.width <= width // 2:
            raise InputError(f"cue.width is {self.width}: give 1 to {width // 2} for images {width} pixels wide")
        columns = torch.arange(width) if self.side == "left" else torch.arange(width).flip(0)
        return (columns < self.width).view(1, 1, 1, -1).expand(len(index), 1, height, width)

    def elsewhere(self) -> StripeCue:
        """The same cue at another place, as large, and clear of its own: the other side."""
        return replace(self, side="right" if self.side == "left" else "left")
