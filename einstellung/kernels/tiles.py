"""Memory as the transforms take it: images with their channels innermost, and the places of their tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.kernels.jit import over_threads


def tile_count(height: int, width: int, side: int) -> int:
    """How many tiles of ``side`` x ``side`` outputs cover an image.

    >>> tile_count(32, 30, 4)
    64
    """
    return -(-height // side) * -(-width // side)


def empty_tiles(side: int, count: int, channels: int) -> Tensor:
    """[place, tile, channel] with one tile of zeros at the end: places a power of two apart would share few cache lines.

    Products are taken of all of it: for a slice, torch would multiply one place after the other.
    """
    tiles = torch.empty((side + 2) ** 2, count + 1, channels, dtype=torch.float32, device="cpu")
    tiles[:, count].zero_()
    return tiles


def transform(kernel: Any, source: Any, target: Any, first: int, last: int, per_image: int) -> None:
    """One of the maps of :mod:`.winograd` over images ``first`` to ``last``; the first one's tiles come first in memory."""
    over_threads(
        lambda begin, end: kernel(source, target, first + begin, first + end, begin * per_image),
        last - first,
    )


def as_nhwc(x: Tensor) -> Tensor:
    """[N, C, H, W] as a view [N, H, W, C] of memory in that order."""
    return x.contiguous(memory_format=torch.channels_last).permute(0, 2, 3, 1)


def as_quads(x: Tensor) -> Any:
    """The same memory as a numpy array, four channels as one complex number."""
    return x.detach().numpy().view(np.complex128)
