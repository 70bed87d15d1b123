"""Where everything of a scene stands, as a caster needs it: camera, objects and lamps in the same coordinates.

The ground is z = 0 and the camera looks at the origin. Every object is told by one extent e and stands on the ground: a sphere of
radius e, a cube of half side e, a cylinder of radius and half height e.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import MATERIALS, RADII, RGB, SHAPES
from einstellung.scenes.scene import Floats, Scenes

CAMERA = np.array([7.481, -6.508, 5.344])
HALF_WIDTH = 16 / 35  # of the picture, at distance 1: a lens of 35 mm before a sensor of 32 mm

CUBE, SPHERE, CYLINDER = (SHAPES.index(name) for name in ("cube", "sphere", "cylinder"))
_EXTENT = np.array([1 / math.sqrt(2), 1.0, 1.0])  # by shape, of the radius
_BOUND = np.array([math.sqrt(3), 1.0, math.sqrt(2)])  # by shape, of the extent: the sphere around it
_BULK = np.array([(6 / math.pi) ** (1 / 3), 1.0, 1.5 ** (1 / 3)])  # by shape, of the extent: the sphere of its volume

# key, fill and back, and a sun, which is a lamp far away
LAMPS = np.array([[6.45, -2.91, 4.26], [-4.67, -4.01, 3.01], [-1.17, 2.65, 5.82], [24.0, -13.8, 53.4]])
LAMP_RADII = np.array([0.6, 0.6, 0.6, 2.0])


class Stage(NamedTuple):
    """Scenes before a camera; the first axis is the scene, the second an object or a lamp."""

    eye: Floats  # [N, 3]
    ahead: Floats  # [N, 3], as `aside` and `above` of length 1
    aside: Floats  # [N, 3], to the right in the picture
    above: Floats  # [N, 3], upwards in the picture
    shape: npt.NDArray[np.int64]  # [N, K]
    centre: Floats  # [N, K, 3]
    extent: Floats  # [N, K]
    bound: Floats  # [N, K], the radius of a sphere around the object
    bulk: Floats  # [N, K], the radius of a sphere as large as the object
    cosine: Floats  # [N, K], of its rotation
    sine: Floats  # [N, K]
    colour: Floats  # [N, K, 3], the share of the light that is sent back
    metal: npt.NDArray[np.bool_]  # [N, K]
    lamp: Floats  # [N, 4, 3]
    distance: Floats  # [N, 4], of the lamp from the origin, squared
    axis: Floats  # [N, 4, 3], of length 1, from the origin to the lamp
    disc: Floats  # [N, 4, 2, 3], two radii of the lamp's disc, which is turned to the origin


def stage(scenes: Scenes) -> Stage:
    """Set the scenes up before their cameras."""
    eye = CAMERA + scenes.camera
    ahead, aside, above = views(eye)
    shape, size, material, colour = (scenes.attributes[..., column].astype(np.int64) for column in range(4))
    extent = np.array(RADII)[size] * _EXTENT[shape]
    lamp = np.repeat(LAMPS[None], len(scenes), axis=0)
    lamp[:, :3] += scenes.lamps
    towards, beside, over = views(lamp)
    disc = np.stack([beside, over], axis=2) * LAMP_RADII[None, :, None, None]
    return Stage(
        eye=eye,
        ahead=ahead,
        aside=aside,
        above=above,
        shape=shape,
        centre=np.concatenate([scenes.position, extent[..., None]], axis=-1),
        extent=extent,
        bound=extent * _BOUND[shape],
        bulk=extent * _BULK[shape],
        cosine=np.cos(scenes.rotation),
        sine=np.sin(scenes.rotation),
        colour=np.array(RGB)[colour] / 255,  # taken as they are for shares of light: CLEVR does the same
        metal=material == MATERIALS.index("metal"),
        lamp=lamp,
        distance=(lamp**2).sum(-1),
        axis=-towards,
        disc=disc,
    )


def views(eye: Floats) -> tuple[Floats, Floats, Floats]:
    """The directions ahead, to the right and upwards [..., 3] of whoever looks from ``eye`` [..., 3] at the origin.

    >>> for direction in views(np.array([0.0, -2.0, 0.0])): print((direction + 0).tolist())
    [0.0, 1.0, 0.0]
    [1.0, 0.0, 0.0]
    [0.0, 0.0, 1.0]
    """
    ahead = -eye / _length(eye)
    aside = np.stack([ahead[..., 1], -ahead[..., 0], np.zeros_like(ahead[..., 0])], axis=-1)
    aside /= _length(aside)
    return ahead, aside, np.cross(aside, ahead)


def steps(size: int) -> tuple[Floats, Floats]:
    """How far right and how far up, at distance 1, the centres of the columns and of the rows of a picture are.

    >>> [(step / HALF_WIDTH).tolist() for step in steps(4)]
    [[-0.75, -0.25, 0.25, 0.75], [0.75, 0.25, -0.25, -0.75]]
    """
    across: Floats = ((np.arange(size, dtype=np.float64) + 0.5) * (2 / size) - 1) * HALF_WIDTH
    return across, -across


def boxes(on: Stage, size: int) -> npt.NDArray[np.int64]:
    """Rows and columns [N, K, 4] (first row, end, first column, end) outside of which an object has no pixel's centre."""
    relative = on.centre - on.eye[:, None]
    deep = (relative * on.ahead[:, None]).sum(-1)
    found = []
    for axis, sign in ((on.above, -1.0), (on.aside, 1.0)):
        off = sign * (relative * axis[:, None]).sum(-1)
        # the two planes through the eye that touch the sphere around the object
        spread = on.bound * np.sqrt(off**2 + deep**2 - on.bound**2)
        for end in (-1, 1):
            edge = (off * deep + end * spread) / (deep**2 - on.bound**2)
            place = (edge / HALF_WIDTH + 1) * (size / 2) - 0.5
            found.append(np.floor(place) if end < 0 else np.ceil(place) + 1)
    return np.asarray(np.clip(np.stack(found, axis=-1), 0, size), dtype=np.int64)


def take(on: Stage, rows: slice) -> Stage:
    """Some of the scenes."""
    return Stage(*(values[rows] for values in on))  # type: ignore[arg-type]


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(-1, keepdims=True)))
