"""How the kernels are compiled, and how they are spread over a run's threads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch

# Sums may be reordered and products fused; infinities and NaN keep their meaning, so that a diverging run is still seen.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
}


def kernel(function: Callable[..., None]) -> Any:
    """A compiled function that is kept on disk, until any source file of this folder changes.

    numba itself looks only at the file in which the function stands, and not at what it is made of.
    """
    from numba import njit

    compiled = njit(**OPTIONS)(function)
    compiled._cache._cache_file._source_stamp = sources_digest()
    return compiled


@cache
def sources_digest() -> str:
    """Of all source files beside this one."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def in_parts(work: Callable[[int, int], Any], count: int) -> list[Any]:
    """``work(first, last)`` over ``count`` items, a part for each of torch's threads; the kernels let go of Python's lock.

    >>> sum(in_parts(lambda first, last: last - first, 3))
    3
    """
    threads = min(torch.get_num_threads(), count)
    if threads <= 1:
        return [work(0, count)]
    ends = [count * number // threads for number in range(threads + 1)]
    return list(_pool(threads).map(work, ends[:-1], ends[1:]))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="kernels")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a copied process has the pool, but none of its threads
