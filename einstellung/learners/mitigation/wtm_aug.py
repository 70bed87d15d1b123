"""Watermark augmentation, WTM Aug (Li et al., 2023, the Whac-A-Mole paper).

With probability p a line of eight random Chinese characters (U+4E00 to U+9FFF), white and half transparent, is laid over an
image from its left edge on: x~ = x (1 - a) + a, a = opacity mask. Uniformly drawn for every image: the size of the
characters among 32, 36, ..., 52 pixels at 224, in proportion at other sizes; the opacity among .1, .2, ..., .9; the height of
the line's top among .1, .2, ..., .9 of the image. loss = CE(f(x~), y).
Needs: the type of shortcut, and a font with Chinese characters. Differs from the original in that a line begins at whole
pixels, and in the font where it is not NotoSerifCJK-ExtraLight, which is the paper's by another name. What is changed is
presented from the raw image, with a crop and flip drawn by the method itself; images that are shown enlarged are watermarked
before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.augmented import ReplacingLearner, require_share
from einstellung.learners.mitigation.characters import FIRST, LAST, Characters, find_font
from einstellung.streams.stream import ImageSet

LENGTH, SIZES, TENTHS = 8, (32, 36, 40, 44, 48, 52), 9

characters = lru_cache(maxsize=len(SIZES))(Characters)  # the learners of a process draw each character once


@dataclass(frozen=True)
class WTMAugOptions:
    font: str | None = option(None, "null: the first suitable installed font, NotoSerifCJK-ExtraLight if present")
    p: float = option(0.5, "the Whac-A-Mole paper's code")

    def __post_init__(self) -> None:
        require_share("wtm_aug", self, "p")


def watermarked(pixels: Tensor, font: Path, draws: torch.Generator) -> Tensor:
    """Images (uint8 [N, C, H, W]), each under a line of text of its own."""
    count, _, height, width = pixels.shape
    which = torch.randint(len(SIZES), (count,), generator=draws)
    opacity, down = 1 + torch.randint(TENTHS, (2, count), generator=draws)  # in tenths
    text = torch.randint(LAST - FIRST + 1, (count, LENGTH), generator=draws)
    mask = torch.zeros(count, 1, height, width)
    for number, at_224 in enumerate(SIZES):
        rows = (which == number).nonzero().flatten()
        lines = characters(font, max(1, at_224 * height // 224)).lines(text[rows])
        for row, line in zip(rows.tolist(), lines, strict=True):
            top = int(down[row]) * height // 10
            shown = line[: height - top, :width]
            mask[row, 0, top : top + shown.shape[0], : shown.shape[1]] = shown
    alpha = mask / 255 * (25.5 * opacity).round().div(255).view(-1, 1, 1, 1)
    blended: Tensor = pixels * (1 - alpha) + 255 * alpha
    return blended.round().to(torch.uint8)


@learners.register("wtm_aug")
class WatermarkAugmentation(ReplacingLearner):
    """Trains on images with random watermarks."""

    Options: ClassVar[type] = WTMAugOptions
    method: ClassVar[str] = "wtm_aug"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._font = find_font(self.method, self.options.font)

    def replaced(self, images: ImageSet) -> Tensor:
        presentation = self.context.presentation
        pixels = presentation.training_pixels(images, self.augmentation, self.cue)
        return presentation.normalised(watermarked(pixels, self._font, self.draws))
