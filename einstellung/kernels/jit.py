"""How the kernels are compiled, and how their work is split over torch's threads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch

# Sums may be reordered and products fused; infinities and NaN keep their meaning, so that a diverging run is noticed.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
}


def kernel(function: Callable[..., None]) -> Any:
    """A compiled function that is cached on disk until any source file of this folder changes.

    numba itself checks only the file that defines the function, not the functions that are inlined into it.
    """
    from numba import njit

    compiled = njit(**OPTIONS)(function)
    compiled._cache._cache_file._source_stamp = sources_digest()
    return compiled


@cache
def sources_digest() -> str:
    """Hash of all source files in this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def over_threads(work: Callable[[int, int], Any], count: int) -> list[Any]:
    """``work(first, last)`` over ``count`` items, split over torch's threads; the kernels release Python's lock.

    >>> sum(over_threads(lambda first, last: last - first, 3))
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
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has the pool, but none of its threads
