"""Which object is seen at the centre of every pixel, by numpy alone.

The compiled way (:func:`einstellung.scenes.rendering.numba_caster.cast_masks`) takes the same operations in the same order in
double precision, so that both answer the same to the last bit: what is visible must not depend on what is installed.
"""

from __future__ import annotations

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import Stage, boxes, steps
from einstellung.scenes.rendering.spans import span
from einstellung.scenes.scene import Floats


def find_nearest(on: Stage, size: int) -> tuple[Codes, Floats]:
    """The number of the object (from 1; 0: none) and its distance (in lengths of the ray) at every pixel's centre."""
    count, objects = on.shape.shape
    numbers = np.zeros((count, size, size), np.uint8)
    distance = np.full((count, size, size), np.inf)
    across, up = steps(size)
    offset = on.eye[:, None] - on.centre
    places = boxes(on, size).tolist()
    for scene in range(count):
        ahead, aside, above = on.ahead[scene], on.aside[scene], on.above[scene]
        for item in range(objects):
            top, bottom, left, right = places[scene][item]
            x, y, z = (
                (ahead[i] + across[left:right] * aside[i])[None, :] + (up[top:bottom] * above[i])[:, None]
                for i in range(3)
            )
            ox, oy, oz = offset[scene, item]
            shape, extent = int(on.shape[scene, item]), on.extent[scene, item]
            with np.errstate(divide="ignore"):  # along a side: the planes are met at infinity
                near, far = span(
                    np, shape, (ox, oy, oz), (x, y, z), extent, on.cosine[scene, item], on.sine[scene, item]
                )
            window = np.s_[scene, top:bottom, left:right]
            first = (near < far) & (near < distance[window])
            distance[window] = np.where(first, near, distance[window])
            numbers[window] = np.where(first, item + 1, numbers[window])
    return numbers, distance
