"""Compile the kernels, or load what an earlier process compiled, before they are needed.

numba keeps compiled code beside its source, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

import numpy as np
from numba.core.dispatcher import Dispatcher

from einstellung.kernels import direct_loops, norm_loops, square_loops, strip_loops, winograd

_DIRECT = ("convolve", "convolve_strided", "return_strided", "add_weights")
_STRIPS = ("convolve_strips", "add_strip_weights")
_DONE = set[str]()


def compiled() -> bool:
    """Whether some process has compiled all of them on this machine, for this version of the code."""
    return all(_cached(kernel) for kernel in _kernels().values())


def load() -> None:
    """Have every kernel ready in this process."""
    images, weights = np.zeros((1, 4, 4, 16), np.float32), np.zeros((1, 3, 3, 16), np.float32)
    for name, kernel in _kernels().items():
        if name in _DONE:
            continue
        if name in ("forward", "backward"):
            values = np.zeros((9, 64), np.float32)
            addresses = tuple(row.ctypes.data for row in values)
            found = np.ones((2, 64))
            if name == "forward":
                kernel(addresses[:7], 1, 64, 64, False, 0.1, 1e-5, found)
            else:
                kernel(addresses[:8], 1, 64, 64, False, found)
        elif name in _DIRECT:
            nothing = (0,) * 6  # no image, of no size
            kernel(0, 0, np.zeros(1, np.float32), *nothing, 1) if name == "add_weights" else kernel(0, 0, 0, *nothing)
        elif name in _STRIPS:
            none, sizes = np.zeros(9 * 8 * 8, np.float32), (0, 0, 4, 4, 8, 8)  # no image
            kernel(0, none, 0, *sizes, False, False) if name == "convolve_strips" else kernel(0, 0, none, *sizes)
        elif name == "add_squares":
            kernel(np.zeros((36, 1, 16), np.float32), weights, 0, 0, 1)
        else:
            places = 36 if "4" in name else 16
            pixels = weights if name.startswith("weight") else images
            tiles = np.zeros((places, 4, 16), np.float32)
            # the maps to tiles take images first, those from tiles take tiles first
            to_tiles = name.startswith("output") == name.endswith("transposed")
            pair = (pixels, tiles) if to_tiles else (tiles, pixels)
            kernel(*(values.view(np.complex128) for values in pair), 0, 1, 0)
        _DONE.add(name)


def _kernels() -> dict[str, Dispatcher]:
    names = [
        f"{what}{side}{how}" for what in ("input", "output", "weight") for side in (2, 4) for how in ("", "_transposed")
    ]
    kernels = {name: getattr(winograd, name) for name in names}
    others = {"forward": norm_loops.forward, "backward": norm_loops.backward, "add_squares": square_loops.add_squares}
    for names, loops in ((_DIRECT, direct_loops), (_STRIPS, strip_loops)):
        others |= {name: getattr(loops, name) for name in names}
    return kernels | others


def _cached(kernel: Dispatcher) -> bool:
    """Whether numba's index, which is empty for any other version of the sources, names code for this processor."""
    processor = kernel.targetctx.codegen().magic_tuple()
    return any(key[1] == processor for key in kernel._cache._cache_file._load_index())
