"""Check whether the kernels can be or have been compiled here, and compile or load them ahead of time.

numba caches compiled code next to its source, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

_MODULES = ("direct_loops", "norm_loops", "square_loops", "strip_loops", "winograd")  # what numba compiles
_loaded = set[str]()


@cache
def obstacle() -> str | None:
    """Why the kernels cannot be used on this machine, and what to do about it; None where they can."""
    if find_spec("numba") is None:
        return "which needs numba: pip install 'einstellung[fast]'"
    try:
        for name in _MODULES:
            _module(name)
    except Exception as error:  # noqa: BLE001 - of numba or LLVM, of whatever kind: torch computes without them
        reason = " ".join(str(error).split())
        return f"but numba cannot compile them here ({reason}): set NUMBA_CACHE_DIR to a writable folder"
    return None


def is_compiled() -> bool:
    """Whether some process has compiled all kernels on this machine, for this version of the code."""
    return all(_is_cached(kernel) for _, kernel, _ in _calls())


def load() -> None:
    """Prepare every kernel in this process: compile it, or load it from the cache."""
    for name, kernel, arguments in _calls():
        if name not in _loaded:
            kernel(*arguments)
            _loaded.add(name)


def _calls() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Every kernel with the arguments of a minimal call."""
    direct, norm, square, strip = (_module(name) for name in _MODULES[:-1])
    yield from _transform_calls(_module("winograd"))
    values, statistics = np.zeros((9, 64), np.float32), np.ones((2, 64))
    addresses = tuple(row.ctypes.data for row in values)
    yield "forward", norm.forward, (addresses[:7], 1, 64, 64, False, 0.1, 1e-5, statistics)
    yield "backward", norm.backward, (addresses[:8], 1, 64, 64, False, statistics)
    one_weight = np.zeros((1, 3, 3, 16), np.float32)
    yield "add_squares", square.add_squares, (np.zeros((36, 1, 16), np.float32), one_weight, 0, 0, 1)
    no_images = (0,) * 6
    for name in ("convolve", "convolve_strided", "return_strided"):
        yield name, getattr(direct, name), (0, 0, 0, *no_images)
    yield "add_weights", direct.add_weights, (0, 0, np.zeros(1, np.float32), *no_images, 1)
    weights, no_images = np.zeros(9 * 8 * 8, np.float32), (0, 0, 4, 4, 8, 8)
    yield "convolve_strips", strip.convolve_strips, (0, weights, 0, *no_images, False, False)
    yield "add_strip_weights", strip.add_strip_weights, (0, 0, weights, *no_images)


def _transform_calls(winograd: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    images, weights = np.zeros((1, 4, 4, 16), np.float32), np.zeros((1, 3, 3, 16), np.float32)
    for side in (2, 4):
        tiles = np.zeros(((side + 2) ** 2, 4, 16), np.float32)
        for what, pixels in (("input", images), ("output", images), ("weight", weights)):
            for suffix in ("", "_transposed"):
                to_tiles = (what == "output") == (suffix == "_transposed")
                pair = (pixels, tiles) if to_tiles else (tiles, pixels)
                name = f"{what}{side}{suffix}"
                yield name, getattr(winograd, name), (*(values.view(np.complex128) for values in pair), 0, 1, 0)


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")


def _is_cached(kernel: Any) -> bool:
    """Whether numba's index, which is empty for any other version of the sources, names code for this processor."""
    processor = kernel.targetctx.codegen().magic_tuple()
    return any(key[1] == processor for key in kernel._cache._cache_file._load_index())
