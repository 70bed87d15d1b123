"""Images: bytes [N, C, H, W], cropped and flipped in training, normalised per channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.input_words import INPUT_WORDS, InputWords
from einstellung.modalities.contract import Modality, Painter, Scaling, View
from einstellung.modalities.transfer import to_device

SHADES = (0, 255)


class Images:
    """Images, and features of images as [N, D, 1, 1]."""

    name: ClassVar[str] = "image"
    words: ClassVar[InputWords] = INPUT_WORDS["image"]
    default_cue: ClassVar[str] = "patch"
    default_cover: ClassVar[str] = "black"
    default_backbone: ClassVar[str] = "resnet18"

    def augmented(self, inputs: Tensor, view: View, draws: torch.Generator) -> Tensor:
        return crop_and_flip(inputs, view.crop_padding, view.flip, draws)

    def encoder(
        self, scaling: Scaling, device: torch.device, layout: torch.memory_format
    ) -> Callable[[Tensor], Tensor]:
        """Normalised floats, enlarged last, so that cue and cover grow with the image and memory holds small images."""
        # (x / 255 - mean) / std as one multiplication and one addition
        std = torch.tensor(scaling.std).view(1, -1, 1, 1)
        factor = (1 / (255 * std)).to(device)
        shift = (-torch.tensor(scaling.mean).view(1, -1, 1, 1) / std).to(device)
        side = scaling.side

        def encoded(pixels: Tensor) -> Tensor:
            floats = to_device(pixels, device).to(torch.float32, memory_format=layout)
            inputs = torch.addcmul(shift, floats, factor)
            if side is None or inputs.shape[-2:] == (side, side):
                return inputs
            return F.interpolate(inputs, size=(side, side), mode="bilinear", align_corners=False)

        return encoded

    def check_scaling(self, scaling: Scaling, stored: Tensor) -> None:
        height, width = stored.shape[-2:]
        if scaling.side is not None and scaling.side < max(height, width):
            # shrinking could lose a small cue between the pixels that are kept
            raise InputError(
                f"stream.input_size is {scaling.side}, but images are {height}x{width} and can only be enlarged"
            )

    def canvases(self, like: Tensor) -> tuple[Tensor, Tensor]:
        dark, light = (torch.full_like(like, shade) for shade in SHADES)
        return dark, light

    def may_be_painted(self, cue: Painter, inputs: Tensor, index: Tensor) -> Tensor:
        """No pixel is darker than on a painted black canvas, or lighter than on a white one.

        For an opaque cue both canvases have its colour, and the images must have it too.
        """
        darkest, lightest = (cue.paint(canvas, index) for canvas in self.canvases(inputs))
        return ((inputs >= darkest) & (inputs <= lightest)).flatten(1).all(dim=1)

    def size(self, inputs: Tensor) -> str:
        return "x".join(map(str, inputs.shape[-2:]))


def crop_and_flip(images: Tensor, padding: int, flip: bool, generator: torch.Generator) -> Tensor:
    """Random crop after zero padding and random horizontal flip, drawn independently for every image.

    Draws come from the CPU generator, so that they are the same on every device.

    >>> one = torch.arange(4, dtype=torch.uint8).view(1, 1, 2, 2)
    >>> crop_and_flip(one, 0, False, torch.Generator().manual_seed(0)).flatten().tolist()
    [0, 1, 2, 3]
    """
    count, channels, height, width = images.shape
    device = images.device
    drawn = to_device(torch.rand(3, count, generator=generator), device)
    top = (drawn[0] * (2 * padding + 1)).long().view(-1, 1, 1, 1)
    left = (drawn[1] * (2 * padding + 1)).long().view(-1, 1, 1, 1)
    cols = torch.arange(width, device=device).view(1, 1, 1, -1).expand(count, -1, -1, -1)
    if flip:
        cols = torch.where((drawn[2] < 0.5).view(-1, 1, 1, 1), width - 1 - cols, cols)
    rows = torch.arange(height, device=device).view(1, 1, -1, 1)
    padded = F.pad(images, (padding, padding, padding, padding))
    image = torch.arange(count, device=device).view(-1, 1, 1, 1)
    channel = torch.arange(channels, device=device).view(1, -1, 1, 1)
    return padded[image, channel, rows + top, cols + left]


IMAGES: Modality = Images()
