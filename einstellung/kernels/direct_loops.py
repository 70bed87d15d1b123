"""Direct 3x3 convolutions of few channels over images, compiled by numba: outputs, gradients of inputs and of weights.

Memory is [image, row, column, channel]. Eight adjacent outputs are computed at a time; where a row is no multiple of eight, the
last block overlaps the one before. How far apart pixels lie is a constant of the compiled code for the usual numbers of
channels: with a variable the blocks are up to a third slower. Arguments are addresses, the first
image and the one after the last, and sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from einstellung.kernels.direct_blocks import (
    PIXELS,
    add_four,
    add_four_strided,
    add_three,
    add_three_strided,
    before_stride_inside,
    before_stride_right,
    pixels_alone,
    pixels_inside,
    pixels_left,
    pixels_right,
    strided_inside,
    strided_left,
)
from einstellung.kernels.jit import OPTIONS, kernel
from einstellung.kernels.vectors import LANES

_BAND = 4  # rows whose gradients are added up while they stay in the fastest cache
_PIXELS = 256  # outputs whose products are summed in one go: shorter sums are rounded less
_ROW = 3 * LANES  # weights of one row and one input for eight outputs


@njit(inline="always", **OPTIONS)
def _convolve(x: int, w: int, y: int, first: int, last: int, height: int, width: int, channels: int, out: int) -> None:
    for at in range(first * height, last * height):
        row = at % height
        above, below = min(row, 1), min(height - 1 - row, 1)
        rows, wide = above + 1 + below, width * channels
        source = x + 4 * ((at - above) * wide - channels)
        for block in range(0, out, LANES):
            by = w + 4 * (3 * block // LANES + 1 - above) * channels * _ROW
            sink = y + 4 * (at * width * out + block)
            if width == PIXELS:
                pixels_alone(source, wide, rows, channels, by, sink, out)
                continue
            pixels_left(source, wide, rows, channels, by, sink, out)
            for column in range(PIXELS, width - PIXELS, PIXELS):
                pixels_inside(source + 4 * column * channels, wide, rows, channels, by, sink + 4 * column * out, out)
            column = width - PIXELS
            pixels_right(source + 4 * column * channels, wide, rows, channels, by, sink + 4 * column * out, out)


@njit(inline="always", **OPTIONS)
def _convolve_strided(
    x: int, w: int, y: int, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    wide = 2 * width * channels
    for at in range(first * height, last * height):
        above = min(at % height, 1)
        source = x + 4 * ((2 * at - above) * wide - channels)
        for block in range(0, out, LANES):
            by = w + 4 * (3 * block // LANES + 1 - above) * channels * _ROW
            sink = y + 4 * (at * width * out + block)
            strided_left(source, wide, 2 + above, channels, by, sink, out)
            for start in range(PIXELS, width, PIXELS):
                column = min(start, width - PIXELS)
                strided_inside(
                    source + 8 * column * channels, wide, 2 + above, channels, by, sink + 4 * column * out, out
                )


@njit(inline="always", **OPTIONS)
def _return_strided(
    d: int, w: int, x: int, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    """``height`` and ``width`` are those of the gradients d; weights are those of the middle row, the last and the first."""
    wide, half = width * channels, PIXELS // 2
    for at in range(first * 2 * height, last * 2 * height):
        odd = at % 2
        rows = 2 if odd and at // 2 % height < height - 1 else 1
        source = d + 4 * (at // 2) * wide
        for block in range(0, out, LANES):
            by = w + 4 * (3 * block // LANES + odd) * channels * _ROW
            sink = x + 4 * (at * 2 * width * out + block)
            for column in range(0, width - half, half):
                before_stride_inside(
                    source + 4 * column * channels, wide, rows, channels, by, sink + 8 * column * out, out
                )
            column = width - half
            before_stride_right(source + 4 * column * channels, wide, rows, channels, by, sink + 8 * column * out, out)


@kernel
def convolve(x: int, w: int, y: int, first: int, last: int, height: int, width: int, channels: int, out: int) -> None:
    """Outputs y of images x; with rotated weights, gradients of the images from those of the outputs."""
    if channels == 3:
        _convolve(x, w, y, first, last, height, width, 3, out)
    elif channels == 8:
        _convolve(x, w, y, first, last, height, width, 8, out)
    elif channels == 16:
        _convolve(x, w, y, first, last, height, width, 16, out)
    else:
        _convolve(x, w, y, first, last, height, width, channels, out)


@kernel
def convolve_strided(
    x: int, w: int, y: int, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    """The same with stride 2; sizes are those of the outputs."""
    if channels == 8:
        _convolve_strided(x, w, y, first, last, height, width, 8, out)
    elif channels == 16:
        _convolve_strided(x, w, y, first, last, height, width, 16, out)
    else:
        _convolve_strided(x, w, y, first, last, height, width, channels, out)


@kernel
def return_strided(
    d: int, w: int, x: int, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    """Gradients x of the inputs of a convolution with stride 2, from those of its outputs."""
    if channels == 16:
        _return_strided(d, w, x, first, last, height, width, 16, out)
    elif channels == 32:
        _return_strided(d, w, x, first, last, height, width, 32, out)
    else:
        _return_strided(d, w, x, first, last, height, width, channels, out)


@njit(inline="always", **OPTIONS)
def _add_weights(
    x: int,
    d: int,
    total: Any,
    first: int,
    last: int,
    height: int,
    width: int,
    channels: int,
    out: int,
    inputs: int,
    step: int,
    add: Any,
) -> None:
    """``height`` and ``width`` are those of the outputs; a band is one of outputs."""
    own = np.zeros(total.size, np.float32)
    sums = own.ctypes.data
    group = max(1, _PIXELS // max(1, height * width))
    for image in range(first, last):
        for top in range(0, height, _BAND):
            bottom = min(top + _BAND, height)
            for block in range(0, out, LANES):
                for down in range(3):
                    begin = max(top, 1) if down == 0 else top
                    end = min(bottom, height - 1) if step == 1 and down == 2 else bottom
                    source = x + 4 * ((image * height * step + begin * step + down - 1) * width * step) * channels
                    grad_output = d + 4 * ((image * height + begin) * width * out + block)
                    sink = sums + 4 * (3 * block // LANES + down) * channels * _ROW
                    for channel in range(0, channels, inputs):
                        add(
                            source + 4 * channel,
                            grad_output,
                            sink + 4 * channel * _ROW,
                            end - begin,
                            width,
                            channels,
                            out,
                        )
        if image == last - 1 or (image - first) % group == group - 1:
            for k in range(total.size):
                total[k] += own[k]
                own[k] = np.float32(0)


@kernel
def add_weights(
    x: int, d: int, total: Any, first: int, last: int, height: int, width: int, channels: int, out: int, step: int
) -> None:
    """Adds the weights' gradients to total [block of outputs, row, input, column, 8 outputs]."""
    if step == 1:
        if channels == 3:
            _add_weights(x, d, total, first, last, height, width, 3, out, 3, 1, add_three)
        else:
            _add_weights(x, d, total, first, last, height, width, channels, out, 4, 1, add_four)
    elif channels == 3:
        _add_weights(x, d, total, first, last, height, width, 3, out, 3, 2, add_three_strided)
    else:
        _add_weights(x, d, total, first, last, height, width, channels, out, 4, 2, add_four_strided)
