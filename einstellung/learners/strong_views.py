"""Strongly augmented views of images, as contrastive methods use them (Chen et al., 2020)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

_AREA, _RATIO = (0.2, 1.0), (3 / 4, 4 / 3)
_JITTER, _HUE, _JITTERED, _GREY = 0.4, 0.1, 0.8, 0.2
_LUMA = torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)


def cropped(pixels: Tensor, flip: bool, draws: torch.Generator) -> Tensor:
    """Of every image (uint8), a random part enlarged to the whole: .2 to 1 of its area, sides 3 : 4 to 4 : 3, maybe flipped.

    >>> grey = torch.full((2, 3, 8, 8), 90, dtype=torch.uint8)
    >>> bool((cropped(grey, True, torch.Generator().manual_seed(0)) == 90).all())
    True
    """
    count = len(pixels)
    area, ratio, top, left, flipped = torch.rand(5, count, generator=draws)
    area = _AREA[0] + (_AREA[1] - _AREA[0]) * area
    ratio = torch.exp(math.log(_RATIO[0]) + (math.log(_RATIO[1]) - math.log(_RATIO[0])) * ratio)
    width, height = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    mirror = torch.where(flipped < 0.5, -1.0, 1.0) if flip else torch.ones(count)
    boxes = torch.zeros(count, 2, 3)  # in coordinates from -1 to 1
    boxes[:, 0, 0], boxes[:, 0, 2] = width * mirror, (1 - width) * (2 * left - 1)
    boxes[:, 1, 1], boxes[:, 1, 2] = height, (1 - height) * (2 * top - 1)
    grid = F.affine_grid(boxes, list(pixels.shape), align_corners=False)
    parts = F.grid_sample(pixels.float(), grid, padding_mode="border", align_corners=False)
    return parts.round_().clamp_(0, 255).to(torch.uint8)


def recoloured(pixels: Tensor, draws: torch.Generator) -> Tensor:
    """With probability .8 brightness, contrast, saturation and hue changed, in random order; with .2 grey. Floats up to 255."""
    count = len(pixels)
    order = torch.rand(count, 4, generator=draws).argsort(dim=1)
    factors = 1 - _JITTER + 2 * _JITTER * torch.rand(3, count, generator=draws)
    turn = _HUE * (2 * torch.rand(count, generator=draws) - 1)
    jittered, grey = torch.rand(2, count, generator=draws)
    out = pixels.float() / 255
    for place in range(4):
        for number in range(4):
            rows = ((order[:, place] == number) & (jittered < _JITTERED)).nonzero().flatten()
            if len(rows):
                change = turn[rows] if number == 3 else factors[number, rows]
                out[rows] = _CHANGES[number](out[rows], change.view(-1, 1, 1, 1)).clamp_(0, 1)
    rows = (grey < _GREY).nonzero().flatten()
    out[rows] = _luma(out[rows])
    return out * 255


def _luma(images: Tensor) -> Tensor:
    return (images * _LUMA).sum(dim=1, keepdim=True).expand_as(images)


def _brighter(images: Tensor, factor: Tensor) -> Tensor:
    return images * factor


def _contrasted(images: Tensor, factor: Tensor) -> Tensor:
    mean = _luma(images).mean(dim=(1, 2, 3), keepdim=True)
    return mean + factor * (images - mean)


def _saturated(images: Tensor, factor: Tensor) -> Tensor:
    grey = _luma(images)
    return grey + factor * (images - grey)


def turned(images: Tensor, turn: Tensor) -> Tensor:
    """The hue moved by ``turn`` of a full circle; the largest and the smallest value of every pixel stay.

    >>> red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1)
    >>> turned(red, torch.tensor(1 / 3)).flatten().tolist()  # green
    [0.0, 1.0, 0.0]
    """
    high, low = images.amax(dim=1, keepdim=True), images.amin(dim=1, keepdim=True)
    span = (high - low).clamp(min=1e-8)
    red, green, blue = images.split(1, dim=1)
    hue = torch.where(
        high == red,
        (green - blue) / span % 6,
        torch.where(high == green, (blue - red) / span + 2, (red - green) / span + 4),
    )
    offset = torch.tensor([5.0, 3.0, 1.0]).view(1, 3, 1, 1)
    wave = (offset + hue + 6 * turn) % 6
    return high - (high - low) * torch.minimum(wave, 4 - wave).clamp(0, 1)


_CHANGES = (_brighter, _contrasted, _saturated, turned)
