"""Winograd's maps for m = 4 on vectors of eight channels, and the products between them, for numba to compile.

The maps are those of :mod:`.winograd`, one dimension at a time. Addresses are bytes; everything else counts numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from einstellung.kernels.vectors import INDEX, LANES, VectorBuilder, codegen

TILES = 8  # the number of tiles in a strip is a multiple of it
_Map = Callable[[VectorBuilder, Sequence[Any]], list[Any]]


def _from_pixels(code: VectorBuilder, x: Sequence[Any]) -> list[Any]:
    """Six pixels to six places."""
    add, sub, scale = code.add, code.sub, code.scale
    p, q = sub(x[4], scale(4, x[2])), sub(x[3], scale(4, x[1]))
    r, t = sub(x[4], x[2]), scale(2, sub(x[3], x[1]))
    first = add(sub(x[4], scale(5, x[2])), scale(4, x[0]))
    last = add(sub(x[5], scale(5, x[3])), scale(4, x[1]))
    return [first, add(p, q), sub(p, q), add(r, t), sub(r, t), last]


def _to_outputs(code: VectorBuilder, m: Sequence[Any]) -> list[Any]:
    """Six places to four outputs."""
    add, sub, scale = code.add, code.sub, code.scale
    p, q, r, t = add(m[1], m[2]), sub(m[1], m[2]), add(m[3], m[4]), sub(m[3], m[4])
    return [add(add(m[0], p), r), add(q, scale(2, t)), add(p, scale(4, r)), add(add(q, m[5]), scale(8, t))]


def _from_gradients(code: VectorBuilder, y: Sequence[Any]) -> list[Any]:
    """The gradients of four outputs to those of six places."""
    add, sub, scale = code.add, code.sub, code.scale
    p, q = add(y[0], y[2]), add(y[1], y[3])
    r, t = add(y[0], scale(4, y[2])), add(scale(2, y[1]), scale(8, y[3]))
    return [y[0], add(p, q), sub(p, q), add(r, t), sub(r, t), y[3]]


def _mapped(n_in: int, n_out: int, along: _Map, adds: bool = False) -> Any:
    """``n_in`` rows, each at an address of its own, to (``adds``: added to) ``n_out`` ones, over ``count`` numbers."""

    @intrinsic
    def block(_: Any, sources: Any, targets: Any, count: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = VectorBuilder(builder)
            rows = [code.pointer(one) for one in cgutils.unpack_tuple(builder, arguments[0], n_in)]
            sinks = [code.pointer(one) for one in cgutils.unpack_tuple(builder, arguments[1], n_out)]
            whole = context.cast(builder, arguments[2], signature.args[2], types.intp)
            with cgutils.for_range_slice(builder, INDEX(0), whole, INDEX(LANES), intp=INDEX) as (at, _):
                made = along(code, [code.vector(row, at) for row in rows])
                for value, sink in zip(made, sinks, strict=True):
                    code.store(code.add(value, code.vector(sink, at)) if adds else value, sink, at)
            return context.get_dummy_value()

        return types.void(sources, targets, count), emit

    return block


# (addresses of rows, addresses of rows, count)
pixels_down, gradients_down = _mapped(6, 6, _from_pixels), _mapped(4, 6, _from_gradients)
outputs_down, outputs_down_added = _mapped(6, 4, _to_outputs), _mapped(6, 4, _to_outputs, adds=True)


def _mapped_across(n_in: int, n_out: int, along: _Map) -> Any:
    """``n_in`` vectors, ``source_stride`` apart, to ``n_out`` ones, ``target_stride`` apart."""

    @intrinsic
    def block(_: Any, source: Any, source_stride: Any, target: Any, target_stride: Any) -> Any:
        def generate(code: VectorBuilder, source: Any, source_stride: Any, target: Any, target_stride: Any) -> None:
            rows, sink = code.pointer(source), code.pointer(target)
            made = along(code, [code.vector(rows, code.offset(number, source_stride)) for number in range(n_in)])
            assert len(made) == n_out
            for number, value in enumerate(made):
                code.store(value, sink, code.offset(number, target_stride))

        return types.void(source, source_stride, target, target_stride), codegen(generate)

    return block


# (address, source_stride, address, target_stride)
pixels_across, outputs_across, gradients_across = (
    _mapped_across(6, 6, _from_pixels),
    _mapped_across(6, 4, _to_outputs),
    _mapped_across(4, 6, _from_gradients),
)


def _products(tile_count: int, blocks: int) -> Any:
    @intrinsic
    def block(_: Any, tiles: Any, channels: Any, weights: Any, target: Any, out: Any) -> Any:
        def generate(code: VectorBuilder, tiles: Any, channels: Any, weights: Any, target: Any, out: Any) -> None:
            source, by, sink = code.pointer(tiles), code.pointer(weights), code.pointer(target)
            sums = [code.accumulators(blocks) for _ in range(tile_count)]
            with cgutils.for_range(code.builder, channels) as channel:
                near = code.builder.mul(channel.index, INDEX(LANES))
                block_stride = code.offset(LANES, channels)
                weight = [
                    code.vector(by, code.plus(near, code.offset(number, block_stride))) for number in range(blocks)
                ]
                for tile, own in enumerate(sums):
                    number = code.broadcast(source, code.plus(channel.index, code.offset(tile, channels)))
                    for total, one in zip(own, weight, strict=True):
                        code.add_product(total, number, one)
            for tile, own in enumerate(sums):
                for number, total in enumerate(own):
                    at = code.plus(code.offset(tile, out), INDEX(number * LANES))
                    code.store(code.builder.load(total), sink, at)

        return types.void(tiles, channels, weights, target, out), codegen(generate)

    return block


# (tiles, channels, weights, target, out): of tiles [tile, channel] one after the other, with weights [block, channel, 8 outputs],
# the outputs of eight tiles for one block, or of four for two
eight_tiles, four_tiles = _products(8, 1), _products(4, 2)


def _added_products(count: int, blocks: int) -> Any:
    @intrinsic
    def block(_: Any, ones: Any, one: Any, others: Any, other: Any, target: Any, tiles: Any) -> Any:
        def generate(
            code: VectorBuilder, ones: Any, one: Any, others: Any, other: Any, target: Any, tiles: Any
        ) -> None:
            singles, vectors, sink = code.pointer(ones), code.pointer(others), code.pointer(target)
            sums = [code.accumulators(blocks) for _ in range(count)]
            block_stride = code.offset(LANES, one)
            places = [
                (total, code.plus(code.offset(number, block_stride), INDEX(single * LANES)))
                for single, own in enumerate(sums)
                for number, total in enumerate(own)
            ]
            for total, at in places:
                code.builder.store(code.vector(sink, at), total)
            with cgutils.for_range(code.builder, tiles) as tile:
                at, near = code.builder.mul(tile.index, one), code.builder.mul(tile.index, other)
                vector = [code.vector(vectors, code.plus(near, INDEX(number * LANES))) for number in range(blocks)]
                for single, own in enumerate(sums):
                    value = code.broadcast(singles, code.plus(at, INDEX(single)))
                    for total, by in zip(own, vector, strict=True):
                        code.add_product(total, value, by)
            for total, at in places:
                code.store(code.builder.load(total), sink, at)

        return types.void(ones, one, others, other, target, tiles), codegen(generate)

    return block


# (ones, one, others, other, target, tiles): over ``tiles`` tiles, the products of eight numbers of ones [tile, one] with a block
# of eight of others [tile, other], or of four with two blocks, added to target [block, one, 8 others]
add_eight, add_four = _added_products(8, 1), _added_products(4, 2)
