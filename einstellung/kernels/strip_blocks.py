"""Winograd's maps for m = 4 on vectors of eight channels, and the products between them, for numba to compile.

The maps are those of :mod:`.winograd`, one dimension at a time. Addresses are bytes; everything else counts numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from einstellung.kernels.vectors import INDEX, LANES, Code, emitted

TILES = 8  # the number of tiles in a strip is a multiple of it
_Map = Callable[[Code, Sequence[Any]], list[Any]]


def _from_pixels(code: Code, x: Sequence[Any]) -> list[Any]:
    """Six pixels to six places."""
    add, less, times = code.add, code.less, code.times
    p, q = less(x[4], times(4, x[2])), less(x[3], times(4, x[1]))
    r, t = less(x[4], x[2]), times(2, less(x[3], x[1]))
    first = add(less(x[4], times(5, x[2])), times(4, x[0]))
    last = add(less(x[5], times(5, x[3])), times(4, x[1]))
    return [first, add(p, q), less(p, q), add(r, t), less(r, t), last]


def _to_outputs(code: Code, m: Sequence[Any]) -> list[Any]:
    """Six places to four outputs."""
    add, less, times = code.add, code.less, code.times
    p, q, r, t = add(m[1], m[2]), less(m[1], m[2]), add(m[3], m[4]), less(m[3], m[4])
    return [add(add(m[0], p), r), add(q, times(2, t)), add(p, times(4, r)), add(add(q, m[5]), times(8, t))]


def _from_slopes(code: Code, y: Sequence[Any]) -> list[Any]:
    """The gradients of four outputs to those of six places."""
    add, less, times = code.add, code.less, code.times
    p, q = add(y[0], y[2]), add(y[1], y[3])
    r, t = add(y[0], times(4, y[2])), add(times(2, y[1]), times(8, y[3]))
    return [y[0], add(p, q), less(p, q), add(r, t), less(r, t), y[3]]


def _mapped(entering: int, leaving: int, along: _Map, adds: bool = False) -> Any:
    """``entering`` rows, each at an address of its own, to (``adds``: added to) ``leaving`` ones, over ``count`` numbers."""

    @intrinsic
    def block(_: Any, sources: Any, targets: Any, count: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(builder)
            rows = [code.pointer(one) for one in cgutils.unpack_tuple(builder, arguments[0], entering)]
            sinks = [code.pointer(one) for one in cgutils.unpack_tuple(builder, arguments[1], leaving)]
            whole = context.cast(builder, arguments[2], signature.args[2], types.intp)
            with cgutils.for_range_slice(builder, INDEX(0), whole, INDEX(LANES), intp=INDEX) as (at, _):
                made = along(code, [code.vector(row, at) for row in rows])
                for value, sink in zip(made, sinks, strict=True):
                    code.store(code.add(value, code.vector(sink, at)) if adds else value, sink, at)
            return context.get_dummy_value()

        return types.void(sources, targets, count), emit

    return block


# (addresses of rows, addresses of rows, count)
pixels_down, slopes_down = _mapped(6, 6, _from_pixels), _mapped(4, 6, _from_slopes)
outputs_down, outputs_down_added = _mapped(6, 4, _to_outputs), _mapped(6, 4, _to_outputs, adds=True)


def _mapped_across(entering: int, leaving: int, along: _Map) -> Any:
    """``entering`` vectors, ``apart`` from one another, to ``leaving`` ones, ``aside`` from one another."""

    @intrinsic
    def block(_: Any, source: Any, apart: Any, target: Any, aside: Any) -> Any:
        def generate(code: Code, source: Any, apart: Any, target: Any, aside: Any) -> None:
            rows, sink = code.pointer(source), code.pointer(target)
            made = along(code, [code.vector(rows, code.offset(number, apart)) for number in range(entering)])
            assert len(made) == leaving
            for number, value in enumerate(made):
                code.store(value, sink, code.offset(number, aside))

        return types.void(source, apart, target, aside), emitted(generate)

    return block


# (address, apart, address, aside)
pixels_across, outputs_across, slopes_across = (
    _mapped_across(6, 6, _from_pixels),
    _mapped_across(6, 4, _to_outputs),
    _mapped_across(4, 6, _from_slopes),
)


def _products(tile_count: int, blocks: int) -> Any:
    @intrinsic
    def block(_: Any, tiles: Any, channels: Any, weights: Any, target: Any, out: Any) -> Any:
        def generate(code: Code, tiles: Any, channels: Any, weights: Any, target: Any, out: Any) -> None:
            source, by, sink = code.pointer(tiles), code.pointer(weights), code.pointer(target)
            sums = [code.sums(blocks) for _ in range(tile_count)]
            with cgutils.for_range(code.builder, channels) as channel:
                near = code.builder.mul(channel.index, INDEX(LANES))
                beside = code.offset(LANES, channels)
                weight = [code.vector(by, code.plus(near, code.offset(number, beside))) for number in range(blocks)]
                for tile, own in enumerate(sums):
                    number = code.repeated(source, code.plus(channel.index, code.offset(tile, channels)))
                    for total, one in zip(own, weight, strict=True):
                        code.add_product(total, number, one)
            for tile, own in enumerate(sums):
                for number, total in enumerate(own):
                    at = code.plus(code.offset(tile, out), INDEX(number * LANES))
                    code.store(code.builder.load(total), sink, at)

        return types.void(tiles, channels, weights, target, out), emitted(generate)

    return block


# (tiles, channels, weights, target, out): of tiles [tile, channel] one after the other, with weights [block, channel, 8 outputs],
# the outputs of eight tiles for one block, or of four for two
eight_tiles, four_tiles = _products(8, 1), _products(4, 2)


def _added_products(count: int, blocks: int) -> Any:
    @intrinsic
    def block(_: Any, ones: Any, one: Any, others: Any, other: Any, target: Any, tiles: Any) -> Any:
        def generate(code: Code, ones: Any, one: Any, others: Any, other: Any, target: Any, tiles: Any) -> None:
            singles, vectors, sink = code.pointer(ones), code.pointer(others), code.pointer(target)
            sums = [code.sums(blocks) for _ in range(count)]
            beside = code.offset(LANES, one)
            places = [
                (total, code.plus(code.offset(number, beside), INDEX(single * LANES)))
                for single, own in enumerate(sums)
                for number, total in enumerate(own)
            ]
            for total, at in places:
                code.builder.store(code.vector(sink, at), total)
            with cgutils.for_range(code.builder, tiles) as tile:
                at, near = code.builder.mul(tile.index, one), code.builder.mul(tile.index, other)
                vector = [code.vector(vectors, code.plus(near, INDEX(number * LANES))) for number in range(blocks)]
                for single, own in enumerate(sums):
                    value = code.repeated(singles, code.plus(at, INDEX(single)))
                    for total, by in zip(own, vector, strict=True):
                        code.add_product(total, value, by)
            for total, at in places:
                code.store(code.builder.load(total), sink, at)

        return types.void(ones, one, others, other, target, tiles), emitted(generate)

    return block


# (ones, one, others, other, target, tiles): over ``tiles`` tiles, the products of eight numbers of ones [tile, one] with a block
# of eight of others [tile, other], or of four with two blocks, added to target [block, one, 8 others]
add_eight, add_four = _added_products(8, 1), _added_products(4, 2)
