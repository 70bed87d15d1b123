"""The mean and the standard deviation of colours, by which inputs are normalised."""

from __future__ import annotations

import torch
from torch import Tensor

from einstellung.errors import InputError

Colour = tuple[float, float, float]


def check_colours(mean: Colour | None, std: Colour | None) -> None:
    """Refuse one without the other, and values on another scale."""
    if (mean is None) != (std is None):
        raise InputError("stream.mean and stream.std go together: give both, or neither")
    if mean is not None and not all(0 <= value <= 1 for value in mean):
        raise InputError(f"stream.mean is {list(mean)}: give numbers from 0 to 1 (divide values in 0..255 by 255)")
    if std is not None and not all(0 < value <= 1 for value in std):
        raise InputError(
            f"stream.std is {list(std)}: give numbers above 0 and up to 1 (divide values in 0..255 by 255)"
        )


def mean_and_std(images: Tensor) -> tuple[Colour, Colour]:
    """Mean and standard deviation per colour channel, in 0..1, rounded to four decimals."""
    total, squares, count = torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64), 0
    for batch in images.split(1000):
        values = batch.double() / 255
        total, squares = total + values.sum(dim=(0, 2, 3)), squares + values.square().sum(dim=(0, 2, 3))
        count += values[:, 0].numel()
    mean = total / count
    std = (squares / count - mean.square()).clamp(min=0).sqrt().clamp(min=1 / 255)  # a single flat colour has no spread
    rounded = [tuple(round(float(value), 4) for value in one) for one in (mean, std)]
    return (rounded[0][0], rounded[0][1], rounded[0][2]), (rounded[1][0], rounded[1][1], rounded[1][2])
