"""The ray-caster in torch, for machines without numba: equal to the compiled one up to a few grey levels.

All rays of a few images are cast at once. Visibility comes from the masks that both casters share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import SceneGeometry, steps, take
from einstellung.scenes.rendering.look import SAMPLES, Look
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.rendering.torch_shading import Vector, shade_background, shade_objects

_RAYS = 2**20  # at once: with fewer, torch's call overhead dominates


def cast_images(geometry: SceneGeometry, look: Look, levels: Codes, size: int) -> tuple[Codes, Codes]:
    """Images [N, size, size, 3], and masks [N, size, size] of the objects at pixel centres."""
    images = np.empty((len(geometry.eye), size, size, 3), np.uint8)
    chunk = max(1, _RAYS // (size * SAMPLES) ** 2)
    for first in range(0, len(images), chunk):
        some = slice(first, first + chunk)
        images[some] = _cast_images(take(geometry, some), look, torch.from_numpy(levels), size)
    return images, find_nearest(geometry, size)[0]


def _cast_images(arrays: SceneGeometry, look: Look, levels: Tensor, size: int) -> Codes:
    count, fine, parts = len(arrays.eye), size * SAMPLES, SAMPLES**2
    geometry = SceneGeometry(*(torch.from_numpy(values) for values in arrays))  # type: ignore[arg-type]
    numbers, distance, *rays = (
        _by_parts(values, size)
        for values in (*(torch.from_numpy(found) for found in find_nearest(arrays, fine)), *_rays(geometry, fine))
    )
    rows = torch.arange(count).repeat_interleave(size * size)
    light = torch.empty(3, len(rows), dtype=torch.float64)
    targets = torch.from_numpy(look.targets)

    bare = (numbers == 0).all(0)
    which = bare.nonzero()[:, 0]
    coarse = _vector(axis.flatten()[which] for axis in _rays(geometry, size))
    # the ground changes slowly: shade it once per pixel, with the shadow rays of all samples
    light[:, which] = torch.stack(
        shade_background(geometry, look, rows[which], _eyes(geometry, rows[which]), coarse, targets[:, None])
    )

    light[:, ~bare] = 0
    for part in range(parts):
        aims = targets[part * len(targets) // parts : (part + 1) * len(targets) // parts, None]
        for objects in (True, False):
            which = (~bare & ((numbers[part] > 0) == objects)).nonzero()[:, 0]
            some, ray = rows[which], _vector(axis[part, which] for axis in rays)
            if objects:
                item, far = numbers[part, which].long() - 1, distance[part, which]
                found = shade_objects(geometry, look, some, item, far, ray, aims)
            else:
                found = shade_background(geometry, look, some, _eyes(geometry, some), ray, aims)
            light[:, which] += torch.stack(found).clamp(max=look.constants.max_light) / parts
    amount = (light / look.constants.max_light).clamp(max=1).sqrt() * (len(levels) - 1) + 0.5
    return levels[amount.long()].view(3, count, size, size).permute(1, 2, 3, 0).numpy()


def _by_parts(values: Tensor, size: int) -> Tensor:
    """From [N, rows, columns] to [sample of a pixel, pixel]."""
    parts = values.view(len(values), size, SAMPLES, size, SAMPLES).permute(2, 4, 0, 1, 3)
    return parts.reshape(SAMPLES**2, -1)


def _rays(geometry: SceneGeometry, size: int) -> Vector:
    across, up = (torch.from_numpy(step) for step in steps(size))
    return _vector(
        geometry.forward[:, axis, None, None]
        + across[None, None, :] * geometry.sideways[:, axis, None, None]
        + up[None, :, None] * geometry.upward[:, axis, None, None]
        for axis in range(3)
    )


def _eyes(geometry: SceneGeometry, rows: Tensor) -> Vector:
    return _vector(geometry.eye[rows, axis] for axis in range(3))


def _vector(axes: Any) -> Vector:
    x, y, z = axes
    return x, y, z
