"""Several batches in one pass through a net, concatenated, each with batch statistics of its own.

Whatever a net does to every image by itself is the same in one pass as in several, and one pass pays the fixed part of a step
once. Only batch norm mixes images: the norms look up here how long each batch is, so that apart from rounding everything is
as if the batches had come one after the other, running statistics included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

# layers are called by torch: the sizes cannot be passed to them as an argument
_sizes: ContextVar[tuple[int, ...]] = ContextVar("batch sizes", default=())


def batch_sizes() -> tuple[int, ...]:
    """Sizes of the batches that are going through the net right now; empty where there is only one."""
    return _sizes.get()


@contextmanager
def separate_batches(sizes: Sequence[int]) -> Iterator[None]:
    """Within it, what goes through a net is batches of these sizes, concatenated."""
    token = _sizes.set(tuple(sizes))
    try:
        yield
    finally:
        _sizes.reset(token)
