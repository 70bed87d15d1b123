"""Several concatenated batches in one forward pass, each with its own batch-norm statistics.

Operations on single images give the same result in one pass as in several, and one pass pays a step's fixed cost once. Only
batch norm mixes images: the norms look up the batch sizes here, so that apart from rounding the result, including running
statistics, equals that of separate passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

# layers are called by torch: the sizes cannot be passed to them as an argument
_sizes: ContextVar[tuple[int, ...]] = ContextVar("batch sizes", default=())


def batch_sizes() -> tuple[int, ...]:
    """Sizes of the batches in the current forward pass; empty if there is only one."""
    return _sizes.get()


@contextmanager
def separate_batches(sizes: Sequence[int]) -> Iterator[None]:
    """Within this context, inputs are concatenated batches of these sizes."""
    token = _sizes.set(tuple(sizes))
    try:
        yield
    finally:
        _sizes.reset(token)
