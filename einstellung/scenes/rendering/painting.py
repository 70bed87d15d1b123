"""From scenes to pictures and masks. A scene's picture depends on the scene, the size and the backend, and on nothing else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering import blender
from einstellung.scenes.rendering.backends import numba_obstacle, resolve_backend
from einstellung.scenes.rendering.geometry import stage
from einstellung.scenes.rendering.look import grey_levels, look
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.scene import Scenes

REFERENCE = 64  # the size at which it is decided what is visible, whatever size is rendered


def render(scenes: Scenes, size: int, backend: str) -> tuple[Codes, Codes]:
    """Pictures (uint8 [N, size, size, 3]) and masks (uint8 [N, size, size]: the object at a pixel's centre, from 1; 0 is ground).

    The masks are the same with every backend, to the last bit.
    """
    backend = resolve_backend(backend)
    if backend == "bpy":
        return blender.paint(scenes, size), object_masks(scenes, size)
    if backend == "numba":
        from einstellung.scenes.rendering import numba_caster

        return numba_caster.paint(stage(scenes), look(), grey_levels(), size)
    from einstellung.scenes.rendering import torch_caster

    return torch_caster.paint(stage(scenes), look(), grey_levels(), size)


def object_masks(scenes: Scenes, size: int) -> Codes:
    """The masks alone: compiled where numba is installed, by numpy otherwise, and the same either way."""
    if numba_obstacle() is None:
        from einstellung.scenes.rendering import numba_caster

        return numba_caster.cast_masks(stage(scenes), size)
    return find_nearest(stage(scenes), size)[0]


def visible_pixels(masks: Codes, objects: int) -> npt.NDArray[np.int64]:
    """How many pixels each object has in each mask, [N, objects].

    >>> visible_pixels(np.array([[[0, 2], [2, 1]]], dtype=np.uint8), 3).tolist()
    [[1, 2, 0]]
    """
    entries = masks + np.arange(len(masks))[:, None, None] * (objects + 1)
    counts = np.bincount(entries.ravel(), minlength=len(masks) * (objects + 1))
    return counts.reshape(len(masks), objects + 1)[:, 1:]


def least_visible(size: int) -> int:
    """The pixels that every object must have: .4 % of the picture, rounded down.

    >>> [least_visible(size) for size in (64, 128, 224)]
    [16, 65, 200]
    """
    return size * size // 250
