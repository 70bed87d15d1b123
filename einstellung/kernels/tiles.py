"""Memory as the transforms take it: images with their channels innermost, and the places of their tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.kernels.compiling import in_parts


def tiles_of(height: int, width: int, side: int) -> int:
    """How many tiles of so many outputs along their side cover an image.

    >>> tiles_of(32, 30, 4)
    64
    """
    return -(-height // side) * -(-width // side)


def new_tiles(side: int, count: int, channels: int) -> Tensor:
    """Places x tiles x channels, a tile of zeros at the end: places a power of two apart would share a few lines of the cache.

    Products are taken of all of it: of a part, torch would take them one place after the other.
    """
    tiles = torch.empty((side + 2) ** 2, count + 1, channels, dtype=torch.float32, device="cpu")
    tiles[:, count].zero_()
    return tiles


def transform(kernel: Any, source: Any, target: Any, first: int, last: int, per_image: int) -> None:
    """One of the maps of :mod:`.winograd` over some images; the first one's tiles come first in memory."""
    in_parts(
        lambda begin, end: kernel(source, target, first + begin, first + end, begin * per_image),
        last - first,
    )


def channels_inside(x: Tensor) -> Tensor:
    """[N, C, H, W] as a view [N, H, W, C] of memory in that order."""
    return x.contiguous(memory_format=torch.channels_last).permute(0, 2, 3, 1)


def quads(x: Tensor) -> Any:
    """The same memory as numpy sees it, four channels as one complex number."""
    return x.detach().numpy().view(np.complex128)
