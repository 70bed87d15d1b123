"""Winograd's algorithm for few channels, compiled by numba: images go through strip by strip, so that tiles stay in the cache.

A strip is one or several rows of tiles, of one or of several images. Memory is [image, row, column, channel] for images, [output,
row, column, input] for weights and [place, block of 8 outputs, input, 8 outputs] for their tiles. Arguments are addresses and
the memory of weights, the first image and the one after the last, and sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from einstellung.kernels.jit import OPTIONS, kernel
from einstellung.kernels.strip_blocks import (
    TILES,
    add_eight,
    add_four,
    eight_tiles,
    four_tiles,
    gradients_across,
    gradients_down,
    outputs_across,
    outputs_down,
    outputs_down_added,
    pixels_across,
    pixels_down,
)
from einstellung.kernels.vectors import LANES
from einstellung.kernels.winograd import weight4_along, weight4_along_transposed

_PLACES = 36
_CACHE = 160 * 2**10  # bytes of tiles in a strip
_MOST = 32  # tiles in a strip, where one row has no more
_SUMMED = 1024  # tiles whose products are summed in one go: shorter sums are rounded less


@njit(inline="always", **OPTIONS)
def _weight_tiles(weights: Any, tiles: Any, channels: int, out: int, rotated: bool) -> None:
    """G w G^T, eight outputs at a time; ``rotated``: of weights rotated by 180 degrees, whose inputs are the outputs of these."""
    three, half = np.empty(9 * LANES, np.float32), np.empty(18 * LANES, np.float32)
    apart = out * channels
    for block in range(0, out, LANES):
        for channel in range(channels):
            for place in range(9):
                for lane in range(LANES):
                    if rotated:
                        at = (9 * channel + 8 - place) * out + block + lane
                    else:
                        at = (9 * (block + lane) + place) * channels + channel
                    three[place * LANES + lane] = weights[at]
            weight4_along(three, 0, 3 * LANES, half, 0, 3 * LANES, 3 * LANES)
            for row in range(6):
                at = 6 * row * apart + block * channels + channel * LANES
                weight4_along(half, 3 * row * LANES, LANES, tiles, at, apart, LANES)


@njit(inline="always", **OPTIONS)
def _weights_of_tiles(tiles: Any, weights: Any, channels: int, out: int) -> None:
    """G^T u G of tiles [place, block of 8 inputs, output, 8 inputs], added to the weights."""
    half, whole = np.empty(18 * LANES, np.float32), np.empty(9 * LANES, np.float32)
    apart = out * channels
    for block in range(0, channels, LANES):
        for output in range(out):
            at = block * out + output * LANES
            for row in range(6):
                weight4_along_transposed(tiles, 6 * row * apart + at, apart, half, 3 * row * LANES, LANES, LANES)
            weight4_along_transposed(half, 0, 3 * LANES, whole, 0, 3 * LANES, 3 * LANES)
            for place in range(9):
                at = (9 * output + place) * channels + block
                for lane in range(LANES):
                    weights[at + lane] += whole[place * LANES + lane]


@njit(inline="always", **OPTIONS)
def _rows_of_strip(width: int, channels: int, out: int) -> int:
    """Rows of tiles in a strip: as many as the cache holds the tiles of."""
    most = max(TILES, min(_MOST, _CACHE // (4 * _PLACES * max(channels, out))))
    return max(1, most // (width // 4))


@njit(inline="always", **OPTIONS)
def _padded(tiles: int) -> int:
    return -(-tiles // TILES) * TILES


@njit(inline="always", **OPTIONS)
def _tiles_of_pixels(
    x: int, at: int, height: int, width: int, channels: int, zero_row: int, half: int, tiles: int, number: int
) -> None:
    """The row of tiles numbered ``at`` of all images; ``number``: how many tiles there is room for in a place."""
    wide = width * channels
    top = 4 * (at % (height // 4))
    source = x + 16 * at * wide
    row = 4 * (wide + 2 * channels)  # bytes, with a pixel of zeros on either side
    begin = half + 4 * channels
    pixels_down(
        (
            source - 4 * wide if top > 0 else zero_row,
            source,
            source + 4 * wide,
            source + 8 * wide,
            source + 12 * wide,
            source + 16 * wide if top + 4 < height else zero_row,
        ),
        (begin, begin + row, begin + 2 * row, begin + 3 * row, begin + 4 * row, begin + 5 * row),
        wide,
    )
    aside = number * channels
    for i in range(6):
        for column in range(width // 4):
            for channel in range(0, channels, LANES):
                pixels_across(
                    half + i * row + 4 * (4 * column * channels + channel),
                    channels,
                    tiles + 4 * (6 * i * aside + column * channels + channel),
                    aside,
                )


@njit(inline="always", **OPTIONS)
def _convolve(
    x: int,
    w: Any,
    y: int,
    first: int,
    last: int,
    height: int,
    width: int,
    channels: int,
    out: int,
    rotated: bool,
    adds: bool,
) -> None:
    rows, across = _rows_of_strip(width, channels, out), width // 4
    number = _padded(rows * across)
    wide = width * out
    by_weights, zeros, halves = _PLACES * channels * out, width * channels, 6 * (width + 2) * channels
    scratch = np.zeros(by_weights + zeros + halves + number * (_PLACES * channels + 30 * out), np.float32)
    _weight_tiles(w, scratch, channels, out, rotated)
    by = np.int64(scratch.ctypes.data)
    zero_row = by + 4 * by_weights
    half = zero_row + 4 * zeros
    places = half + 4 * halves
    product = places + 4 * _PLACES * number * channels
    backs, apart = product + 24 * number * out, 16 * number * out
    end = last * (height // 4)
    for start in range(first * (height // 4), end, rows):
        here = min(rows, end - start)
        for row in range(here):
            _tiles_of_pixels(
                x, start + row, height, width, channels, zero_row, half, places + 4 * row * across * channels, number
            )
        there = _padded(here * across)
        for i in range(6):
            for j in range(6):
                place = 6 * i + j
                if out % (2 * LANES):
                    for block in range(0, out, LANES):
                        for tile in range(0, there, 8):
                            eight_tiles(
                                places + 4 * (place * number + tile) * channels,
                                channels,
                                by + 4 * (place * out + block) * channels,
                                product + 4 * ((j * number + tile) * out + block),
                                out,
                            )
                else:
                    for block in range(0, out, 2 * LANES):
                        for tile in range(0, there, 4):
                            four_tiles(
                                places + 4 * (place * number + tile) * channels,
                                channels,
                                by + 4 * (place * out + block) * channels,
                                product + 4 * ((j * number + tile) * out + block),
                                out,
                            )
            for tile in range(here * across):
                for block in range(0, out, LANES):
                    outputs_across(
                        product + 4 * (tile * out + block),
                        number * out,
                        backs + i * apart + 4 * (4 * tile * out + block),
                        out,
                    )
        for row in range(here):
            begin, sink = backs + 4 * row * wide, y + 16 * (start + row) * wide
            sources = begin, begin + apart, begin + 2 * apart, begin + 3 * apart, begin + 4 * apart, begin + 5 * apart
            targets = sink, sink + 4 * wide, sink + 8 * wide, sink + 12 * wide
            if adds:
                outputs_down_added(sources, targets, wide)
            else:
                outputs_down(sources, targets, wide)
    scratch[0] = 0  # keeps the array alive: numba frees it after its last use, and addresses do not count


@kernel
def convolve_strips(
    x: int,
    w: Any,
    y: int,
    first: int,
    last: int,
    height: int,
    width: int,
    channels: int,
    out: int,
    rotated: bool,
    adds: bool,
) -> None:
    """Outputs y of images x; with ``rotated`` weights, gradients of images from those of outputs. ``adds``: added to y."""
    if channels == 8 and out == 8:
        _convolve(x, w, y, first, last, height, width, 8, 8, rotated, adds)
    elif channels == 16 and out == 16:
        _convolve(x, w, y, first, last, height, width, 16, 16, rotated, adds)
    else:
        _convolve(x, w, y, first, last, height, width, channels, out, rotated, adds)


@njit(inline="always", **OPTIONS)
def _add_weights(
    x: int, d: int, total: Any, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    rows, across = _rows_of_strip(width, channels, out), width // 4
    number = rows * across
    wide = width * out
    sums = np.zeros(_PLACES * channels * out, np.float32)
    zeros, halves = width * channels, 6 * (width + 2) * channels
    scratch = np.zeros(zeros + halves + 6 * wide + _PLACES * number * (channels + out), np.float32)
    sum_places, zero_row = np.int64(sums.ctypes.data), np.int64(scratch.ctypes.data)
    half = zero_row + 4 * zeros
    grad_half = half + 4 * halves
    places = grad_half + 24 * wide
    grad_places = places + 4 * _PLACES * number * channels
    summed, end = 0, last * (height // 4)
    for start in range(first * (height // 4), end, rows):
        here = min(rows, end - start)
        for row in range(here):
            _tiles_of_pixels(
                x, start + row, height, width, channels, zero_row, half, places + 4 * row * across * channels, number
            )
            begin, sink = d + 16 * (start + row) * wide, grad_half
            gradients_down(
                (begin, begin + 4 * wide, begin + 8 * wide, begin + 12 * wide),
                (sink, sink + 4 * wide, sink + 8 * wide, sink + 12 * wide, sink + 16 * wide, sink + 20 * wide),
                wide,
            )
            for i in range(6):
                for column in range(across):
                    for block in range(0, out, LANES):
                        gradients_across(
                            grad_half + 4 * (i * wide + 4 * column * out + block),
                            out,
                            grad_places + 4 * ((6 * i * number + row * across + column) * out + block),
                            number * out,
                        )
        for place in range(_PLACES):
            if channels % (2 * LANES):
                for block in range(0, channels, LANES):
                    for output in range(0, out, 8):
                        add_eight(
                            grad_places + 4 * (place * number * out + output),
                            out,
                            places + 4 * (place * number * channels + block),
                            channels,
                            sum_places + 4 * ((place * channels + block) * out + output * LANES),
                            here * across,
                        )
            else:
                for block in range(0, channels, 2 * LANES):
                    for output in range(0, out, 4):
                        add_four(
                            grad_places + 4 * (place * number * out + output),
                            out,
                            places + 4 * (place * number * channels + block),
                            channels,
                            sum_places + 4 * ((place * channels + block) * out + output * LANES),
                            here * across,
                        )
        summed += here * across
        if summed >= _SUMMED or start + rows >= end:
            _weights_of_tiles(sums, total, channels, out)
            sums[:] = 0
            summed = 0
    scratch[0] = 0  # as above


@kernel
def add_strip_weights(
    x: int, d: int, total: Any, first: int, last: int, height: int, width: int, channels: int, out: int
) -> None:
    """Adds the weights' gradients to total [output, row, column, input]."""
    if channels == 8 and out == 8:
        _add_weights(x, d, total, first, last, height, width, 8, 8)
    elif channels == 16 and out == 16:
        _add_weights(x, d, total, first, last, height, width, 16, 16)
    else:
        _add_weights(x, d, total, first, last, height, width, channels, out)
