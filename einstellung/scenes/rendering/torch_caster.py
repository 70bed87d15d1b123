"""The ray-caster in torch, for machines without numba: the same pictures as the compiled one, some grey levels aside.

All rays of a few pictures are followed at once. What is seen where comes from the masks that both casters share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import Stage, steps, take
from einstellung.scenes.rendering.look import SAMPLES, Look
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.rendering.torch_shading import Vector, beyond, of_objects

_RAYS = 2**20  # at once: with fewer, more time goes into calling torch than into its work


def paint(on: Stage, look: Look, levels: Codes, size: int) -> tuple[Codes, Codes]:
    """The pictures [N, size, size, 3], and the masks [N, size, size] of what is seen at the pixels' centres."""
    images = np.empty((len(on.eye), size, size, 3), np.uint8)
    lot = max(1, _RAYS // (size * SAMPLES) ** 2)
    for first in range(0, len(images), lot):
        some = slice(first, first + lot)
        images[some] = _paint(take(on, some), look, torch.from_numpy(levels), size)
    return images, find_nearest(on, size)[0]


def _paint(arrays: Stage, look: Look, levels: Tensor, size: int) -> Codes:
    count, fine, parts = len(arrays.eye), size * SAMPLES, SAMPLES**2
    on = Stage(*(torch.from_numpy(values) for values in arrays))  # type: ignore[arg-type]
    numbers, distance, *rays = (
        _by_parts(values, size)
        for values in (*(torch.from_numpy(found) for found in find_nearest(arrays, fine)), *_rays(on, fine))
    )
    rows = torch.arange(count).repeat_interleave(size * size)
    light = torch.empty(3, len(rows), dtype=torch.float64)
    targets = torch.from_numpy(look.targets)

    bare = (numbers == 0).all(0)
    which = bare.nonzero()[:, 0]
    coarse = _vector(axis.flatten()[which] for axis in _rays(on, size))
    # ground changes slowly: once for the whole pixel, with the aims of all its parts
    light[:, which] = torch.stack(beyond(on, look, rows[which], _eyes(on, rows[which]), coarse, targets[:, None]))

    light[:, ~bare] = 0
    for part in range(parts):
        aims = targets[part * len(targets) // parts : (part + 1) * len(targets) // parts, None]
        for objects in (True, False):
            which = (~bare & ((numbers[part] > 0) == objects)).nonzero()[:, 0]
            some, ray = rows[which], _vector(axis[part, which] for axis in rays)
            if objects:
                item, far = numbers[part, which].long() - 1, distance[part, which]
                found = of_objects(on, look, some, item, far, ray, aims)
            else:
                found = beyond(on, look, some, _eyes(on, some), ray, aims)
            light[:, which] += torch.stack(found).clamp(max=look.numbers.brightest) / parts
    amount = (light / look.numbers.brightest).clamp(max=1).sqrt() * (len(levels) - 1) + 0.5
    return levels[amount.long()].view(3, count, size, size).permute(1, 2, 3, 0).numpy()


def _by_parts(values: Tensor, size: int) -> Tensor:
    """From [N, rows, columns] to [part of a pixel, pixel]."""
    parts = values.view(len(values), size, SAMPLES, size, SAMPLES).permute(2, 4, 0, 1, 3)
    return parts.reshape(SAMPLES**2, -1)


def _rays(on: Stage, size: int) -> Vector:
    across, up = (torch.from_numpy(step) for step in steps(size))
    return _vector(
        on.ahead[:, axis, None, None]
        + across[None, None, :] * on.aside[:, axis, None, None]
        + up[None, :, None] * on.above[:, axis, None, None]
        for axis in range(3)
    )


def _eyes(on: Stage, rows: Tensor) -> Vector:
    return _vector(on.eye[rows, axis] for axis in range(3))


def _vector(axes: Any) -> Vector:
    x, y, z = axes
    return x, y, z
