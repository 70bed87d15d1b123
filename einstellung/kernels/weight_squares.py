"""Squared weight gradients of single images by Winograd's algorithm, for Fisher information.

An image's weight gradient is G^T [sum_t D_t X_t^T] G over its tiles t, with the transformed gradients D of the outputs and the
transformed inputs X: 4 times fewer multiplications than the direct way. It pays for images of many tiles; with few, mapping the
36 sums of every pair of channels back to 9 weights costs more than that.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from einstellung.kernels.jit import over_threads
from einstellung.kernels.tiles import as_nhwc, as_quads, empty_tiles, tile_count, transform

_SIDE = 4  # outputs along a tile's side
_PLACES = 36  # of a tile
_LEAST_TILES = 16  # of an image
_IMAGES = 4  # transformed at a time
_PRODUCTS = 2**18  # sums over tiles held at a time: they stay in the cache


def tiles_pay(height: int, width: int) -> bool:
    """Whether an image has enough tiles."""
    return tile_count(height, width, _SIDE) >= _LEAST_TILES


def add_weight_squares(total: Tensor, x: Tensor, grad_output: Tensor) -> None:
    """total [output, 3, 3, channel] += sum_i (dw_i)^2, from inputs x [i, C, H, W] and grad_output [i, O, H, W]."""
    from einstellung.kernels import square_loops, winograd

    images, grad_images = as_nhwc(x), as_nhwc(grad_output)
    count, height, width, channels = images.shape
    outputs, per_image = grad_images.shape[3], tile_count(height, width, _SIDE)
    tiles = empty_tiles(_SIDE, _IMAGES * per_image, channels)
    grad_tiles = empty_tiles(_SIDE, _IMAGES * per_image, outputs)
    rows = max(1, min(outputs, _PRODUCTS // (_PLACES * channels)))
    products = images.new_empty(_PLACES, rows, channels)
    target = total.numpy()
    for first in range(0, count, _IMAGES):
        last = min(first + _IMAGES, count)
        transform(winograd.input4, as_quads(images), as_quads(tiles), first, last, per_image)
        transform(winograd.output4_transposed, as_quads(grad_images), as_quads(grad_tiles), first, last, per_image)
        for begin in range(0, outputs, rows):
            end = min(begin + rows, outputs)
            block = (
                products[:, : end - begin] if end - begin == rows else images.new_empty(_PLACES, end - begin, channels)
            )
            for image in range(last - first):
                own = slice(image * per_image, (image + 1) * per_image)
                torch.bmm(grad_tiles[:, own, begin:end].transpose(1, 2), tiles[:, own], out=block)
                over_threads(partial(square_loops.add_squares, block.numpy(), target, begin), end - begin)
