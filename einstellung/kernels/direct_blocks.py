"""Blocks of a direct 3x3 convolution as vectors of eight channels, for numba to compile.

Each block keeps its sums in registers, eight channels a vector (:mod:`.vectors`), and reads every number of the image once for
the three weights of a row that it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from einstellung.kernels.vectors import INDEX, LANES, VectorBuilder, codegen

PIXELS = 8  # outputs of a block: as many sums as additions that the processor has under way at a time


def _sums_of_pixels(left: bool, right: bool, step: int) -> Any:
    """Eight outputs of a convolution with stride ``step``; at the image's left or right edge what lies outside is left out."""

    @intrinsic
    def block(_: Any, image: Any, row: Any, rows: Any, channels: Any, weights: Any, target: Any, out: Any) -> Any:
        def meets(pixel: int) -> list[tuple[int, int]]:
            return [
                (output, pixel - output * step)
                for output in range(PIXELS)
                if 0 <= pixel - output * step < 3 and not (left and pixel == 0) and not (right and pixel == last)
            ]

        last = (PIXELS - 1) * step + 2
        return types.void(image, row, rows, channels, weights, target, out), codegen(
            lambda code, *arguments: _sum_over_rows(code, *arguments, pixels=range(last + 1), meets=meets)
        )

    return block


def _sums_before_stride(right: bool) -> Any:
    """Gradients of eight inputs of a convolution with stride 2, the first in an even column.

    An even column meets the middle weight of one output, an odd one the last weight of that output and the first of the next.
    """

    @intrinsic
    def block(_: Any, grad_output: Any, row: Any, rows: Any, channels: Any, weights: Any, target: Any, out: Any) -> Any:
        def meets(pixel: int) -> list[tuple[int, int]]:
            columns = [(2 * pixel - 1 + across, across) for across in range(3)]
            return [(column, across) for column, across in columns if 0 <= column < PIXELS]

        pixels = range(PIXELS // 2 if right else PIXELS // 2 + 1)
        return types.void(grad_output, row, rows, channels, weights, target, out), codegen(
            lambda code, *arguments: _sum_over_rows(code, *arguments, pixels=pixels, meets=meets)
        )

    return block


def _sum_over_rows(
    code: VectorBuilder,
    image: Any,
    row: Any,
    rows: Any,
    channels: Any,
    weights: Any,
    target: Any,
    out: Any,
    *,
    pixels: range,
    meets: Callable[[int], list[tuple[int, int]]],
) -> None:
    source, by, sink = code.pointer(image), code.pointer(weights), code.pointer(target)
    sums = code.accumulators(PIXELS)
    with cgutils.for_range(code.builder, rows) as down, cgutils.for_range(code.builder, channels) as channel:
        at = code.plus(code.builder.mul(down.index, row), channel.index)
        near = code.builder.mul(code.plus(code.builder.mul(down.index, channels), channel.index), INDEX(3 * LANES))
        three = [code.vector(by, code.plus(near, INDEX(across * LANES))) for across in range(3)]
        for pixel in pixels:
            if meets(pixel):
                number = code.broadcast(source, code.plus(at, code.offset(pixel, channels)))
            for output, across in meets(pixel):
                code.add_product(sums[output], number, three[across])
    for pixel, total in enumerate(sums):
        code.store(code.builder.load(total), sink, code.offset(pixel, out))


# (image, row, rows, channels, weights, target, out): from ``rows`` rows of an image, ``row`` apart, each of pixels of so many
# channels, the first pixel one to the left of the first output's; weights are [row, channel, column, 8 outputs]; results are
# ``out`` apart.
pixels_inside, pixels_left = _sums_of_pixels(False, False, 1), _sums_of_pixels(True, False, 1)
pixels_right, pixels_alone = _sums_of_pixels(False, True, 1), _sums_of_pixels(True, True, 1)
strided_inside, strided_left = _sums_of_pixels(False, False, 2), _sums_of_pixels(True, False, 2)
# the same, but the first pixel is that of the first result's
before_stride_inside, before_stride_right = _sums_before_stride(False), _sums_before_stride(True)


def _weight_sums(inputs: int, step: int) -> Any:
    """Sums over pixels of ``inputs`` input channels times the gradients of eight outputs, for the columns of a weight."""

    @intrinsic
    def block(_: Any, image: Any, grad_output: Any, target: Any, rows: Any, width: Any, channels: Any, out: Any) -> Any:
        return types.void(image, grad_output, target, rows, width, channels, out), codegen(
            lambda code, *arguments: _add_over_pixels(code, *arguments, inputs=inputs, step=step)
        )

    return block


def _add_over_pixels(
    code: VectorBuilder,
    image: Any,
    grad_output: Any,
    target: Any,
    rows: Any,
    width: Any,
    channels: Any,
    out: Any,
    *,
    inputs: int,
    step: int,
) -> None:
    source, given, sink = code.pointer(image), code.pointer(grad_output), code.pointer(target)
    builder = code.builder
    places = [(channel, across) for channel in range(inputs) for across in range(3)]
    sums = dict(zip(places, code.accumulators(len(places)), strict=True))

    def add(at: Any, near: Any, columns: tuple[int, ...]) -> None:
        """A pixel of the image with its three outputs (stride 1), or an output with its three pixels."""
        if step == 1:
            gradient = {across: code.vector(given, code.plus(near, code.offset(1 - across, out))) for across in columns}
            for channel in range(inputs):
                number = code.broadcast(source, code.plus(at, INDEX(channel)))
                for across in columns:
                    code.add_product(sums[channel, across], number, gradient[across])
        else:
            one = code.vector(given, near)
            for channel in range(inputs):
                for across in columns:
                    number = code.broadcast(source, code.plus(at, code.offset(across - 1, channels), INDEX(channel)))
                    code.add_product(sums[channel, across], number, one)

    for channel, across in places:
        builder.store(code.vector(sink, INDEX((channel * 3 + across) * LANES)), sums[channel, across])
    steps = builder.mul(INDEX(step), channels)
    whole = builder.mul(INDEX(step * step), builder.mul(width, channels))
    with cgutils.for_range(builder, rows) as row:
        at, near = builder.mul(row.index, whole), builder.mul(row.index, builder.mul(width, out))
        last = builder.sub(width, INDEX(1))
        add(at, near, (0, 1) if step == 1 else (1, 2))
        end = last if step == 1 else width
        with cgutils.for_range_slice(builder, INDEX(1), end, INDEX(1), intp=INDEX) as (pixel, _):
            add(code.plus(at, builder.mul(pixel, steps)), code.plus(near, builder.mul(pixel, out)), (0, 1, 2))
        if step == 1:
            add(code.plus(at, builder.mul(last, steps)), code.plus(near, builder.mul(last, out)), (1, 2))
    for channel, across in places:
        code.store(builder.load(sums[channel, across]), sink, INDEX((channel * 3 + across) * LANES))


# (image, grad_output, target, rows, width, channels, out): added to target [channel, column, 8 outputs], for four channels of an
# image or a colour image's three, over ``rows`` rows of ``width`` outputs
add_four, add_three = _weight_sums(4, 1), _weight_sums(3, 1)
add_four_strided, add_three_strided = _weight_sums(4, 2), _weight_sums(3, 2)
