"""Squared weight gradients of single images by Winograd's algorithm, for Fisher information.

An image's weight gradient is G^T [sum_t D_t X_t^T] G over its tiles t, with the transformed gradients D of the outputs and the
transformed inputs X: 4 times fewer multiplications than the direct way. It pays for images of many tiles; with few, mapping the
36 sums of every pair of channels back to 9 weights costs more than that.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from einstellung.kernels.compiling import in_parts
from einstellung.kernels.convolution import WinogradConv2d, computes_here, takes
from einstellung.kernels.tiles import channels_inside, new_tiles, quads, tiles_of, transform

_SIDE = 4  # outputs along a tile's side
_PLACES = 36  # of a tile
_LEAST_TILES = 16  # of an image
_IMAGES = 4  # transformed at a time
_PRODUCTS = 2**18  # sums over tiles held at a time: they stay in the cache


def suits_weight_squares(layer: nn.Module, x: Tensor, gradient: Tensor) -> bool:
    """Whether the layer computes by our kernels, here and now, on images of many tiles."""
    if not isinstance(layer, WinogradConv2d) or not takes(layer, layer.weight, layer.bias, x):
        return False
    if not computes_here(gradient) or gradient.shape != (len(x), len(layer.weight), *x.shape[2:]):
        return False
    return tiles_of(x.shape[2], x.shape[3], _SIDE) >= _LEAST_TILES


def add_weight_squares(total: Tensor, x: Tensor, gradient: Tensor) -> None:
    """total [output, 3, 3, channel] += sum_i (dw_i)^2, from inputs x [i, C, H, W] and gradients [i, O, H, W] of the outputs."""
    from einstellung.kernels import square_loops, winograd

    images, slopes = channels_inside(x), channels_inside(gradient)
    count, height, width, channels = images.shape
    outputs, per_image = slopes.shape[3], tiles_of(height, width, _SIDE)
    tiles = new_tiles(_SIDE, _IMAGES * per_image, channels)
    theirs = new_tiles(_SIDE, _IMAGES * per_image, outputs)
    rows = max(1, min(outputs, _PRODUCTS // (_PLACES * channels)))
    products = images.new_empty(_PLACES, rows, channels)
    target = total.numpy()
    for first in range(0, count, _IMAGES):
        last = min(first + _IMAGES, count)
        transform(winograd.input4, quads(images), quads(tiles), first, last, per_image)
        transform(winograd.output4_transposed, quads(slopes), quads(theirs), first, last, per_image)
        for begin in range(0, outputs, rows):
            end = min(begin + rows, outputs)
            room = (
                products[:, : end - begin] if end - begin == rows else images.new_empty(_PLACES, end - begin, channels)
            )
            for image in range(last - first):
                own = slice(image * per_image, (image + 1) * per_image)
                torch.bmm(theirs[:, own, begin:end].transpose(1, 2), tiles[:, own], out=room)
                in_parts(partial(square_loops.add_squares, room.numpy(), target, begin), end - begin)
