"""Choose a renderer, and render scenes to images and masks. An image depends only on its scene, the size and the backend."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering import blender
from einstellung.scenes.rendering.geometry import scene_geometry
from einstellung.scenes.rendering.look import grey_levels, look
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.scene import Scenes

BACKENDS = ("numba", "torch", "bpy")
REFERENCE = 64  # the size at which visibility is decided, whatever size is rendered


def resolve_backend(name: str) -> str:
    """The backend to use: ``auto`` is numba if it works here, else torch.

    >>> resolve_backend("torch")
    'torch'
    """
    if name == "auto":
        return "torch" if numba_obstacle() else "numba"
    if name not in BACKENDS:
        raise InputError(f"unknown backend '{name}': {suggestion(name, ['auto', *BACKENDS])}")
    obstacle = numba_obstacle() if name == "numba" else blender.obstacle() if name == "bpy" else None
    if obstacle is not None:
        raise InputError(f"the backend '{name}' {obstacle}, or give 'auto'")
    return name


@cache
def numba_obstacle() -> str | None:
    """Why numba cannot be used, and what to do about it; None if it works."""
    if find_spec("numba") is None:
        return "needs numba: pip install 'einstellung[fast]'"
    try:
        import_module("einstellung.scenes.rendering.numba_caster")
    except Exception as error:  # noqa: BLE001 - numba and LLVM raise anything; torch renders without them
        reason = " ".join(str(error).split())
        return f"cannot be compiled here ({reason}): set NUMBA_CACHE_DIR to a writable folder"
    return None


def render(scenes: Scenes, size: int, backend: str) -> tuple[Codes, Codes]:
    """Images (uint8 [N, size, size, 3]) and masks (uint8 [N, size, size]: the object at each pixel centre, from 1; 0 is ground).

    The masks are bit-identical for all backends.
    """
    backend = resolve_backend(backend)
    if backend == "bpy":
        return blender.render_images(scenes, size), object_masks(scenes, size)
    if backend == "numba":
        from einstellung.scenes.rendering import numba_caster

        return numba_caster.cast_images(scene_geometry(scenes), look(), grey_levels(), size)
    from einstellung.scenes.rendering import torch_caster

    return torch_caster.cast_images(scene_geometry(scenes), look(), grey_levels(), size)


def object_masks(scenes: Scenes, size: int) -> Codes:
    """Masks without images: by numba if it works, else by numpy, with identical results."""
    if numba_obstacle() is None:
        from einstellung.scenes.rendering import numba_caster

        return numba_caster.cast_masks(scene_geometry(scenes), size)
    return find_nearest(scene_geometry(scenes), size)[0]


def visible_pixels(masks: Codes, objects: int) -> npt.NDArray[np.int64]:
    """The number of visible pixels of each object in each mask, [N, objects].

    >>> visible_pixels(np.array([[[0, 2], [2, 1]]], dtype=np.uint8), 3).tolist()
    [[1, 2, 0]]
    """
    entries = masks + np.arange(len(masks))[:, None, None] * (objects + 1)
    counts = np.bincount(entries.ravel(), minlength=len(masks) * (objects + 1))
    return counts.reshape(len(masks), objects + 1)[:, 1:]


def least_visible(size: int) -> int:
    """The number of visible pixels that every object needs: 0.4 % of the image, rounded down.

    >>> [least_visible(size) for size in (64, 128, 224)]
    [16, 65, 200]
    """
    return size * size // 250
