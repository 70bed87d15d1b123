"""AugMix's operations on batches of images (uint8 [N, C, H, W]), each image with a level of its own.

They are Pillow's, as the authors use them, for whole batches: levels are numbers from 0 to 10, and what a level means is in
the docstring of each. What an image loses at one edge by being turned, sheared or moved is black at the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Operation = Callable[[Tensor, Tensor, Tensor], Tensor]


def autocontrast(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Every channel stretched so that its darkest value is 0 and its brightest 255; one of a single value stays.

    >>> flat = torch.tensor([10, 20, 30], dtype=torch.uint8).view(1, 1, 1, 3)
    >>> autocontrast(flat, torch.zeros(1), torch.ones(1)).flatten().tolist()
    [0, 127, 255]
    """
    darkest, brightest = (values.double() for values in images.flatten(2).aminmax(dim=2))
    differs = brightest > darkest
    full = torch.full_like(
        darkest, 255
    )  # torch divides a plain number by multiplying it with the inverse, which rounds twice
    scale = torch.where(differs, full / (brightest - darkest), 1.0)
    offset = torch.where(differs, -darkest * scale, 0.0)
    return _looked_up(images, torch.arange(256).double() * scale.unsqueeze(2) + offset.unsqueeze(2))


def equalise(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Every channel with its values spread so that each range of them holds about equally many pixels."""
    count, channels = images.shape[:2]
    values = images.flatten(2).long()
    bins = torch.zeros(count, channels, 256, dtype=torch.long, device=images.device)
    bins.scatter_add_(2, values, torch.ones_like(values))
    of_brightest = bins.gather(2, values.amax(dim=2, keepdim=True))
    step = (values.shape[2] - of_brightest).div(255, rounding_mode="floor")
    darker = bins.cumsum(dim=2) - bins
    spread = (darker + step // 2) // step.clamp(min=1)
    return _looked_up(images, torch.where(step > 0, spread, torch.arange(256, device=images.device)))


def posterise(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """The highest 4 - int(.4 level) bits of every value, the very highest in any case."""
    dropped = (4 + (0.4 * level).long()).clamp(max=7)
    return images & _per_image((255 << dropped) & 255).to(torch.uint8)


def solarise(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Values of 256 - int(25.6 level) and above turned to 255 minus themselves."""
    return torch.where(images >= _per_image(256 - (25.6 * level).long()), 255 - images, images)


def rotate(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Turned counter-clockwise by int(3 level) degrees about the middle, or as much clockwise."""
    angle = sign * (3 * level).floor() * math.pi / 180
    cos, sin = angle.cos(), angle.sin()
    height, width = images.shape[-2:]
    row, col = height / 2, width / 2
    return _affine(images, (cos, -sin, col - cos * col + sin * row), (sin, cos, row - sin * col - cos * row))


def shear_x(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Every row moved to the left by .03 level times its distance from the top, or as much to the right."""
    zero, one = torch.zeros_like(level), torch.ones_like(level)
    return _affine(images, (one, sign * 0.03 * level, zero), (zero, one, zero))


def shear_y(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Every column moved up by .03 level times its distance from the left, or as much down."""
    zero, one = torch.zeros_like(level), torch.ones_like(level)
    return _affine(images, (one, zero, zero), (sign * 0.03 * level, one, zero))


def translate_x(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Moved to the left by int(level / 30 of the width) pixels, or as much to the right."""
    zero, one = torch.zeros_like(level), torch.ones_like(level)
    return _affine(images, (one, zero, sign * (level * images.shape[-1] / 30).floor()), (zero, one, zero))


def translate_y(images: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Moved up by int(level / 30 of the height) pixels, or as much down."""
    zero, one = torch.zeros_like(level), torch.ones_like(level)
    return _affine(images, (one, zero, zero), (zero, one, sign * (level * images.shape[-2] / 30).floor()))


OPERATIONS: tuple[Operation, ...] = (
    autocontrast,
    equalise,
    posterise,
    rotate,
    solarise,
    shear_x,
    shear_y,
    translate_x,
    translate_y,
)


def _per_image(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)


def _looked_up(images: Tensor, table: Tensor) -> Tensor:
    """Every value replaced by what the table [N, C, 256] has for it, without its fraction, between 0 and 255."""
    whole = table.trunc() if table.is_floating_point() else table
    return whole.clamp(0, 255).to(torch.uint8).gather(2, images.flatten(2).long()).view_as(images)


def _affine(images: Tensor, across: tuple[Tensor, Tensor, Tensor], down: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The image in which each pixel (col, row) shows what is at (a col + b row + c, d col + e row + f), between pixels a mean.

    Coordinates are those of pixels' middles; what lies outside is black.
    """
    height, width = images.shape[-2:]
    rows = (torch.arange(height, dtype=torch.float64, device=images.device) + 0.5).view(1, -1, 1)
    cols = (torch.arange(width, dtype=torch.float64, device=images.device) + 0.5).view(1, 1, -1)
    x, y = (a.view(-1, 1, 1) * cols + b.view(-1, 1, 1) * rows + c.view(-1, 1, 1) for a, b, c in (across, down))
    inside = ((x >= 0) & (x < width) & (y >= 0) & (y < height)).unsqueeze(1)
    grid = torch.stack((2 * x / width - 1, 2 * y / height - 1), dim=-1).float()
    moved = F.grid_sample(images.float(), grid, mode="bilinear", padding_mode="border", align_corners=False)
    # a value that is whole but for the last bit must not lose one
    return torch.where(inside, (moved + 1e-3).floor(), 0.0).clamp(0, 255).to(torch.uint8)
