"""Object masks in pure numpy: the object visible at every pixel centre.

The compiled version (:func:`einstellung.scenes.rendering.numba_caster.cast_masks`) does the same operations in the same order in
double precision, so that both agree bit for bit: visibility must not depend on what is installed.
"""

from __future__ import annotations

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import SceneGeometry, boxes, steps
from einstellung.scenes.rendering.spans import span
from einstellung.scenes.scene import Floats


def find_nearest(geometry: SceneGeometry, size: int) -> tuple[Codes, Floats]:
    """The object (from 1; 0: none) at every pixel centre, and its distance in ray lengths."""
    count, objects = geometry.shape.shape
    numbers = np.zeros((count, size, size), np.uint8)
    distance = np.full((count, size, size), np.inf)
    across, up = steps(size)
    offset = geometry.eye[:, None] - geometry.centre
    places = boxes(geometry, size).tolist()
    for scene in range(count):
        forward, sideways, upward = geometry.forward[scene], geometry.sideways[scene], geometry.upward[scene]
        for item in range(objects):
            top, bottom, left, right = places[scene][item]
            x, y, z = (
                (forward[i] + across[left:right] * sideways[i])[None, :] + (up[top:bottom] * upward[i])[:, None]
                for i in range(3)
            )
            ox, oy, oz = offset[scene, item]
            shape, extent = int(geometry.shape[scene, item]), geometry.extent[scene, item]
            with np.errstate(divide="ignore"):  # rays parallel to a side meet its planes at infinity
                near, far = span(
                    np, shape, (ox, oy, oz), (x, y, z), extent, geometry.cosine[scene, item], geometry.sine[scene, item]
                )
            window = np.s_[scene, top:bottom, left:right]
            first = (near < far) & (near < distance[window])
            distance[window] = np.where(first, near, distance[window])
            numbers[window] = np.where(first, item + 1, numbers[window])
    return numbers, distance
