"""Instructions on vectors of eight floats, emitted as LLVM IR into numba's code.

numba has no vector type, and accumulators that the compiler finds in loops end up in memory. Here they are explicit and
stay in registers. Addresses are bytes; offsets, strides and steps count numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

LANES = 8  # numbers in a vector
INDEX, VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
_FLOAT, _LANE = ir.FloatType(), ir.IntType(32)


class VectorBuilder:
    """The instructions that the blocks are made of."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def offset(self, factor: int, value: Any) -> Any:
        return self.builder.mul(INDEX(factor), value)

    def pointer(self, address: Any) -> Any:
        return self.builder.inttoptr(address, _FLOAT.as_pointer())

    def vector(self, pointer: Any, offset: Any) -> Any:
        return self.builder.load(self._vector_at(pointer, offset), align=4)

    def store(self, value: Any, pointer: Any, offset: Any) -> None:
        self.builder.store(value, self._vector_at(pointer, offset), align=4)

    def broadcast(self, pointer: Any, offset: Any) -> Any:
        """One number in every lane."""
        number = self.builder.load(self.builder.gep(pointer, [offset]))
        single = self.builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, _LANE(0))
        lanes = ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES)
        return self.builder.shuffle_vector(single, ir.Constant(VECTOR, ir.Undefined), lanes)

    def accumulators(self, count: int) -> list[Any]:
        """Variables that become registers, initialised to zero."""
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        made = [cgutils.alloca_once(self.builder, VECTOR) for _ in range(count)]
        for one in made:
            self.builder.store(zero, one)
        return made

    def add(self, one: Any, other: Any) -> Any:
        return self.builder.fadd(one, other, flags=("contract",))

    def sub(self, one: Any, other: Any) -> Any:
        return self.builder.fsub(one, other, flags=("contract",))

    def scale(self, factor: float, one: Any) -> Any:
        return self.builder.fmul(ir.Constant(VECTOR, [factor] * LANES), one, flags=("contract",))

    def add_product(self, total: Any, one: Any, other: Any) -> None:
        product = self.builder.fmul(one, other, flags=("contract",))
        self.builder.store(self.add(self.builder.load(total), product), total)

    def plus(self, *offsets: Any) -> Any:
        total = offsets[0]
        for offset in offsets[1:]:
            total = self.builder.add(total, offset)
        return total

    def _vector_at(self, pointer: Any, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), VECTOR.as_pointer())


def codegen(generate: Callable[..., None]) -> Any:
    """The code generator of a numba intrinsic of integers, whose instructions ``generate`` emits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments, signature.args, strict=True)
        ]
        generate(VectorBuilder(builder), *whole)
        return context.get_dummy_value()

    return emit
