"""Boxes in an image, grids of them, and moving the content of a box from one image to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, sqrt

import torch
from torch import Tensor

Box = tuple[int, int, int, int]  # top, left, height, width, in pixels


def side_of(budget: float, height: int, width: int) -> int:
    """The side of a square that covers a share ``budget`` of an image.

    >>> side_of(0.05, 32, 32), side_of(0.02, 32, 32), side_of(0.05, 224, 224)
    (7, 5, 50)
    """
    return min(height, width, max(2, round(sqrt(budget * height * width))))


def grid(height: int, width: int, side: int, per_side: int = 7) -> list[Box]:
    """Squares at equal distances that cover the image, at most ``per_side`` in a row, or more where they would leave gaps.

    >>> len(grid(32, 32, 7)), grid(4, 4, 2, 2)
    (49, [(0, 0, 2, 2), (0, 2, 2, 2), (2, 0, 2, 2), (2, 2, 2, 2)])
    """
    return [
        (top, left, side, side) for top in _starts(height, side, per_side) for left in _starts(width, side, per_side)
    ]


def _starts(length: int, side: int, per_side: int) -> list[int]:
    count = max(ceil(length / side), min(per_side, length - side + 1))
    if count == 1:
        return [0]
    return sorted({round(place * (length - side) / (count - 1)) for place in range(count)})


def area(box: Box) -> int:
    return box[2] * box[3]


def overlap(one: Box, other: Box) -> int:
    """Pixels that two boxes share.

    >>> overlap((0, 0, 4, 4), (2, 3, 4, 4)), overlap((0, 0, 2, 2), (2, 0, 2, 2))
    (2, 0)
    """
    height = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    width = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(height, 0) * max(width, 0)


def iou(one: Box, other: Box) -> float:
    """Intersection over union.

    >>> iou((0, 0, 2, 2), (0, 0, 2, 4))
    0.5
    """
    both = overlap(one, other)
    return both / (area(one) + area(other) - both)


def clipped(top: int, left: int, height: int, width: int, shape: Sequence[int]) -> Box:
    """The part of a box inside an image of ``shape`` (height, width)."""
    first_row, first_col = max(top, 0), max(left, 0)
    last_row, last_col = min(top + height, shape[0]), min(left + width, shape[1])
    return (first_row, first_col, max(last_row - first_row, 0), max(last_col - first_col, 0))


def mask_of(boxes: Box | Sequence[Box], count: int, height: int, width: int) -> Tensor:
    """bool [count, 1, H, W]: one box for all images, or one each.

    >>> mask_of((0, 0, 1, 2), 1, 2, 2)[0, 0].int().tolist()
    [[1, 1], [0, 0]]
    """
    given: Iterable[Box] = [boxes] * count if isinstance(boxes, tuple) else boxes
    edges = torch.tensor(list(given)).view(-1, 4)
    tops, lefts, heights, widths = (edges[:, part].view(-1, 1, 1, 1) for part in range(4))
    rows, cols = torch.arange(height).view(1, 1, -1, 1), torch.arange(width).view(1, 1, 1, -1)
    return (rows >= tops) & (rows < tops + heights) & (cols >= lefts) & (cols < lefts + widths)


def pasted(recipients: Tensor, donors: Tensor, boxes: Box | Sequence[Box]) -> Tensor:
    """Recipients with the donors' content inside the box, at the same place.

    >>> pasted(torch.zeros(1, 1, 1, 3), torch.ones(1, 1, 1, 3), (0, 1, 1, 1)).flatten().tolist()
    [0.0, 1.0, 0.0]
    """
    if isinstance(boxes, tuple):
        top, left, height, width = boxes
        result = recipients.clone()
        result[..., top : top + height, left : left + width] = donors[..., top : top + height, left : left + width]
        return result
    return torch.where(mask_of(boxes, len(recipients), *recipients.shape[-2:]), donors, recipients)
