"""Winograd's transforms for 3x3 convolutions, compiled by numba: images to tiles, tiles to images (Lavin and Gray, 2016).

A 3x3 convolution y = w * x is, in tiles of m x m outputs, Y = A^T [(G w G^T) . (B^T x B)] A, where the dots are matrix
products over channels, one for each of the (m + 2)^2 places of a tile. With m = 4 it needs 4 times fewer multiplications
than the direct way, with m = 2 2.25 times fewer. All six maps are linear, so the backward pass consists of the same
products with the transposed maps.

Memory is [image, row, column, channel] for images and [place, tile, channel] for tiles. Sixteen channels are transformed at a
time, in two scratch arrays that stay in the fastest cache; rows and columns outside the image count as zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from einstellung.kernels.jit import OPTIONS, kernel

BLOCK = 16  # channels at a time
QUADS = BLOCK // 4
_f = np.float32


# The six maps in one dimension for m = 4, points 0, 1, -1, 2, -2, infinity. Each goes from rows of s (the first at i, ``si``
# apart) to rows of d (the first at o, ``so`` apart), over ``count`` numbers.
@njit(inline="always", **OPTIONS)
def _input4(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        x0, x1, x2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        x3, x4, x5 = s[i + 3 * si + k], s[i + 4 * si + k], s[i + 5 * si + k]
        p, q = x4 - _f(4) * x2, x3 - _f(4) * x1
        r, t = x4 - x2, _f(2) * (x3 - x1)
        d[o + k] = _f(4) * x0 - _f(5) * x2 + x4
        d[o + so + k] = p + q
        d[o + 2 * so + k] = p - q
        d[o + 3 * so + k] = r + t
        d[o + 4 * so + k] = r - t
        d[o + 5 * so + k] = _f(4) * x1 - _f(5) * x3 + x5


@njit(inline="always", **OPTIONS)
def _input4_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        v0, v1, v2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        v3, v4, v5 = s[i + 3 * si + k], s[i + 4 * si + k], s[i + 5 * si + k]
        p, q, r, t = v1 + v2, v1 - v2, v3 + v4, _f(2) * (v3 - v4)
        d[o + k] = _f(4) * v0
        d[o + so + k] = _f(4) * (v5 - q) - t
        d[o + 2 * so + k] = -_f(5) * v0 - _f(4) * p - r
        d[o + 3 * so + k] = q + t - _f(5) * v5
        d[o + 4 * so + k] = v0 + p + r
        d[o + 5 * so + k] = v5


@njit(inline="always", **OPTIONS)
def _output4(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        m0, m1, m2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        m3, m4, m5 = s[i + 3 * si + k], s[i + 4 * si + k], s[i + 5 * si + k]
        p, q, r, t = m1 + m2, m1 - m2, m3 + m4, m3 - m4
        d[o + k] = m0 + p + r
        d[o + so + k] = q + _f(2) * t
        d[o + 2 * so + k] = p + _f(4) * r
        d[o + 3 * so + k] = q + _f(8) * t + m5


@njit(inline="always", **OPTIONS)
def _output4_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        y0, y1, y2, y3 = s[i + k], s[i + si + k], s[i + 2 * si + k], s[i + 3 * si + k]
        p, q = y0 + y2, y1 + y3
        r, t = y0 + _f(4) * y2, _f(2) * y1 + _f(8) * y3
        d[o + k] = y0
        d[o + so + k] = p + q
        d[o + 2 * so + k] = p - q
        d[o + 3 * so + k] = r + t
        d[o + 4 * so + k] = r - t
        d[o + 5 * so + k] = y3


@njit(inline="always", **OPTIONS)
def weight4_along(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        w0, w1, w2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        p = -(w0 + w2) * _f(1 / 6)
        q = w1 * _f(1 / 6)
        r = w0 * _f(1 / 24) + w2 * _f(1 / 6)
        t = w1 * _f(1 / 12)
        d[o + k] = w0 * _f(1 / 4)
        d[o + so + k] = p - q
        d[o + 2 * so + k] = p + q
        d[o + 3 * so + k] = r + t
        d[o + 4 * so + k] = r - t
        d[o + 5 * so + k] = w2


@njit(inline="always", **OPTIONS)
def weight4_along_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        u0, u1, u2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        u3, u4, u5 = s[i + 3 * si + k], s[i + 4 * si + k], s[i + 5 * si + k]
        p, q, r, t = u1 + u2, u2 - u1, u3 + u4, u3 - u4
        d[o + k] = u0 * _f(1 / 4) - p * _f(1 / 6) + r * _f(1 / 24)
        d[o + so + k] = q * _f(1 / 6) + t * _f(1 / 12)
        d[o + 2 * so + k] = (r - p) * _f(1 / 6) + u5


# The same for m = 2, points 0, 1, -1, infinity.
@njit(inline="always", **OPTIONS)
def _input2(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        x0, x1, x2, x3 = s[i + k], s[i + si + k], s[i + 2 * si + k], s[i + 3 * si + k]
        d[o + k] = x0 - x2
        d[o + so + k] = x1 + x2
        d[o + 2 * so + k] = x2 - x1
        d[o + 3 * so + k] = x1 - x3


@njit(inline="always", **OPTIONS)
def _input2_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        v0, v1, v2, v3 = s[i + k], s[i + si + k], s[i + 2 * si + k], s[i + 3 * si + k]
        d[o + k] = v0
        d[o + so + k] = v1 - v2 + v3
        d[o + 2 * so + k] = v1 + v2 - v0
        d[o + 3 * so + k] = -v3


@njit(inline="always", **OPTIONS)
def _output2(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        m0, m1, m2, m3 = s[i + k], s[i + si + k], s[i + 2 * si + k], s[i + 3 * si + k]
        d[o + k] = m0 + m1 + m2
        d[o + so + k] = m1 - m2 - m3


@njit(inline="always", **OPTIONS)
def _output2_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        y0, y1 = s[i + k], s[i + si + k]
        d[o + k] = y0
        d[o + so + k] = y0 + y1
        d[o + 2 * so + k] = y0 - y1
        d[o + 3 * so + k] = -y1


@njit(inline="always", **OPTIONS)
def _weight2(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        w0, w1, w2 = s[i + k], s[i + si + k], s[i + 2 * si + k]
        p, q = (w0 + w2) * _f(1 / 2), w1 * _f(1 / 2)
        d[o + k] = w0
        d[o + so + k] = p + q
        d[o + 2 * so + k] = p - q
        d[o + 3 * so + k] = w2


@njit(inline="always", **OPTIONS)
def _weight2_transposed(s: Any, i: int, si: int, d: Any, o: int, so: int, count: int) -> None:
    for k in range(count):
        u0, u1, u2, u3 = s[i + k], s[i + si + k], s[i + 2 * si + k], s[i + 3 * si + k]
        p, q = (u1 + u2) * _f(1 / 2), (u1 - u2) * _f(1 / 2)
        d[o + k] = u0 + p
        d[o + so + k] = q
        d[o + 2 * so + k] = p + u3


# Pixels and places are moved as quadruples of channels, 16 bytes that numba sees as one complex number: moved as single
# numbers, they would be moved one by one, for want of a proof that source and target do not overlap.
@njit(inline="always", **OPTIONS)
def _read_patch(images: Any, image: int, top: int, left: int, channel: int, patch: int, scratch: Any) -> None:
    for i in range(patch):
        y = top + i
        for j in range(patch):
            x = left + j
            at = (i * patch + j) * QUADS
            if 0 <= y < images.shape[1] and 0 <= x < images.shape[2]:
                a, b = images[image, y, x, channel], images[image, y, x, channel + 1]
                c, d = images[image, y, x, channel + 2], images[image, y, x, channel + 3]
                scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3] = a, b, c, d
            else:
                scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3] = 0, 0, 0, 0


@njit(inline="always", **OPTIONS)
def _write_patch(images: Any, image: int, top: int, left: int, channel: int, patch: int, scratch: Any) -> None:
    for i in range(patch):
        y = top + i
        for j in range(patch):
            x = left + j
            at = (i * patch + j) * QUADS
            if 0 <= y < images.shape[1] and 0 <= x < images.shape[2]:
                a, b, c, d = scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3]
                images[image, y, x, channel], images[image, y, x, channel + 1] = a, b
                images[image, y, x, channel + 2], images[image, y, x, channel + 3] = c, d


@njit(inline="always", **OPTIONS)
def _to_tiles(
    images: Any,
    tiles: Any,
    first: int,
    last: int,
    begin: int,
    step: int,
    patch: int,
    margin: int,
    size: int,
    along: Any,
) -> None:
    """Patches of patch x patch pixels, ``step`` apart and shifted by ``-margin``, each to size x size places of its tile.

    Images ``first`` to ``last`` are read; the tiles of the first one are written from tile ``begin`` on.
    """
    down, across = (images.shape[1] + step - 1) // step, (images.shape[2] + step - 1) // step
    one, two = np.empty(36 * BLOCK, _f), np.empty(36 * BLOCK, _f)
    quads = one.view(np.complex128)
    tile = begin
    for image in range(first, last):
        for row in range(down):
            for col in range(across):
                for channel in range(0, images.shape[3], QUADS):
                    _read_patch(images, image, row * step - margin, col * step - margin, channel, patch, quads)
                    along(one, 0, patch * BLOCK, two, 0, patch * BLOCK, patch * BLOCK)
                    for i in range(size):
                        along(two, i * patch * BLOCK, BLOCK, one, i * size * BLOCK, BLOCK, BLOCK)
                    for place in range(size * size):
                        at = place * QUADS
                        a, b, c, d = quads[at], quads[at + 1], quads[at + 2], quads[at + 3]
                        tiles[place, tile, channel], tiles[place, tile, channel + 1] = a, b
                        tiles[place, tile, channel + 2], tiles[place, tile, channel + 3] = c, d
                tile += 1


@njit(inline="always", **OPTIONS)
def _from_tiles(
    tiles: Any,
    images: Any,
    first: int,
    last: int,
    begin: int,
    step: int,
    patch: int,
    margin: int,
    size: int,
    along: Any,
) -> None:
    """Each tile's size x size places to patch x patch pixels; with a margin patches overlap and are added up."""
    down, across = (images.shape[1] + step - 1) // step, (images.shape[2] + step - 1) // step
    one, two = np.empty(36 * BLOCK, _f), np.empty(36 * BLOCK, _f)
    quads, others = one.view(np.complex128), two.view(np.complex128)
    tile = begin
    for image in range(first, last):
        for row in range(down):
            for col in range(across):
                top, left = row * step - margin, col * step - margin
                for channel in range(0, images.shape[3], QUADS):
                    for place in range(size * size):
                        at = place * QUADS
                        a, b = tiles[place, tile, channel], tiles[place, tile, channel + 1]
                        c, d = tiles[place, tile, channel + 2], tiles[place, tile, channel + 3]
                        quads[at], quads[at + 1], quads[at + 2], quads[at + 3] = a, b, c, d
                    along(one, 0, size * BLOCK, two, 0, size * BLOCK, size * BLOCK)
                    for i in range(patch):
                        along(two, i * size * BLOCK, BLOCK, one, i * patch * BLOCK, BLOCK, BLOCK)
                    if margin:
                        _read_patch(images, image, top, left, channel, patch, others)
                        for k in range(patch * patch * BLOCK):
                            one[k] += two[k]
                    _write_patch(images, image, top, left, channel, patch, quads)
                tile += 1


@kernel
def input4(images: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(images, tiles, first, last, begin, 4, 6, 1, 6, _input4)


@kernel
def input4_transposed(tiles: Any, images: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, images, first, last, begin, 4, 6, 1, 6, _input4_transposed)


@kernel
def output4(tiles: Any, images: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, images, first, last, begin, 4, 4, 0, 6, _output4)


@kernel
def output4_transposed(images: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(images, tiles, first, last, begin, 4, 4, 0, 6, _output4_transposed)


@kernel
def weight4(weights: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(weights, tiles, first, last, begin, 3, 3, 0, 6, weight4_along)


@kernel
def weight4_transposed(tiles: Any, weights: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, weights, first, last, begin, 3, 3, 0, 6, weight4_along_transposed)


@kernel
def input2(images: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(images, tiles, first, last, begin, 2, 4, 1, 4, _input2)


@kernel
def input2_transposed(tiles: Any, images: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, images, first, last, begin, 2, 4, 1, 4, _input2_transposed)


@kernel
def output2(tiles: Any, images: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, images, first, last, begin, 2, 2, 0, 4, _output2)


@kernel
def output2_transposed(images: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(images, tiles, first, last, begin, 2, 2, 0, 4, _output2_transposed)


@kernel
def weight2(weights: Any, tiles: Any, first: int, last: int, begin: int) -> None:
    _to_tiles(weights, tiles, first, last, begin, 3, 3, 0, 4, _weight2)


@kernel
def weight2_transposed(tiles: Any, weights: Any, first: int, last: int, begin: int) -> None:
    _from_tiles(tiles, weights, first, last, begin, 3, 3, 0, 4, _weight2_transposed)
