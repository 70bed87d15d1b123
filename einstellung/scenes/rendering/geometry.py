"""The geometry of scenes as the ray-casters need it: camera, objects and lamps in world coordinates.

The ground is z = 0 and the camera looks at the origin. Every object stands on the ground and has one extent e: a sphere of
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
HALF_WIDTH = 16 / 35  # of the image plane at distance 1: a 35 mm lens and a 32 mm sensor

CUBE, SPHERE, CYLINDER = (SHAPES.index(name) for name in ("cube", "sphere", "cylinder"))
_EXTENT = np.array([1 / math.sqrt(2), 1.0, 1.0])  # by shape, relative to the radius
_BOUNDING_RADIUS = np.array([math.sqrt(3), 1.0, math.sqrt(2)])  # by shape, relative to the extent
_VOLUME_RADIUS = np.array([(6 / math.pi) ** (1 / 3), 1.0, 1.5 ** (1 / 3)])  # of equal volume, likewise

# key, fill and back lamps, and a sun, which is a distant lamp
LAMPS = np.array([[6.45, -2.91, 4.26], [-4.67, -4.01, 3.01], [-1.17, 2.65, 5.82], [24.0, -13.8, 53.4]])
LAMP_RADII = np.array([0.6, 0.6, 0.6, 2.0])


class SceneGeometry(NamedTuple):
    """Everything a caster needs; the first axis is the scene, the second an object or a lamp."""

    eye: Floats  # [N, 3]
    forward: Floats  # [N, 3], a unit vector like the next two
    sideways: Floats  # [N, 3], to the right in the image
    upward: Floats  # [N, 3], upwards in the image
    shape: npt.NDArray[np.int64]  # [N, K]
    centre: Floats  # [N, K, 3]
    extent: Floats  # [N, K]
    bounding_radius: Floats  # [N, K], of the bounding sphere
    volume_radius: Floats  # [N, K], of a sphere of the object's volume
    cosine: Floats  # [N, K], of its rotation
    sine: Floats  # [N, K]
    colour: Floats  # [N, K, 3], albedo
    metal: npt.NDArray[np.bool_]  # [N, K]
    lamp: Floats  # [N, 4, 3]
    distance: Floats  # [N, 4], squared, from the origin to the lamp
    axis: Floats  # [N, 4, 3], unit vector from the origin to the lamp
    disc: Floats  # [N, 4, 2, 3], two perpendicular radii of the lamp's disc, which faces the origin


def scene_geometry(scenes: Scenes) -> SceneGeometry:
    """Convert scenes to world coordinates."""
    eye = CAMERA + scenes.camera
    forward, sideways, upward = views(eye)
    shape, size, material, colour = (scenes.attributes[..., column].astype(np.int64) for column in range(4))
    extent = np.array(RADII)[size] * _EXTENT[shape]
    lamp = np.repeat(LAMPS[None], len(scenes), axis=0)
    lamp[:, :3] += scenes.lamps
    inward, disc_right, disc_up = views(lamp)
    disc = np.stack([disc_right, disc_up], axis=2) * LAMP_RADII[None, :, None, None]
    return SceneGeometry(
        eye=eye,
        forward=forward,
        sideways=sideways,
        upward=upward,
        shape=shape,
        centre=np.concatenate([scenes.position, extent[..., None]], axis=-1),
        extent=extent,
        bounding_radius=extent * _BOUNDING_RADIUS[shape],
        volume_radius=extent * _VOLUME_RADIUS[shape],
        cosine=np.cos(scenes.rotation),
        sine=np.sin(scenes.rotation),
        colour=np.array(RGB)[colour] / 255,  # sRGB values used as linear albedo, as CLEVR does
        metal=material == MATERIALS.index("metal"),
        lamp=lamp,
        distance=(lamp**2).sum(-1),
        axis=-inward,
        disc=disc,
    )


def views(eye: Floats) -> tuple[Floats, Floats, Floats]:
    """The forward, right and up directions [..., 3] of a camera at ``eye`` [..., 3] that looks at the origin.

    >>> for direction in views(np.array([0.0, -2.0, 0.0])): print((direction + 0).tolist())
    [0.0, 1.0, 0.0]
    [1.0, 0.0, 0.0]
    [0.0, 0.0, 1.0]
    """
    forward = -eye / _length(eye)
    sideways = np.stack([forward[..., 1], -forward[..., 0], np.zeros_like(forward[..., 0])], axis=-1)
    sideways /= _length(sideways)
    return forward, sideways, np.cross(sideways, forward)


def steps(size: int) -> tuple[Floats, Floats]:
    """The horizontal and vertical coordinates of pixel centres on the image plane at distance 1.

    >>> [(step / HALF_WIDTH).tolist() for step in steps(4)]
    [[-0.75, -0.25, 0.25, 0.75], [0.75, 0.25, -0.25, -0.75]]
    """
    across: Floats = ((np.arange(size, dtype=np.float64) + 0.5) * (2 / size) - 1) * HALF_WIDTH
    return across, -across


def boxes(geometry: SceneGeometry, size: int) -> npt.NDArray[np.int64]:
    """Pixel bounds [N, K, 4] of each object: first row, end row, first column, end column."""
    relative = geometry.centre - geometry.eye[:, None]
    depth = (relative * geometry.forward[:, None]).sum(-1)
    found = []
    for axis, sign in ((geometry.upward, -1.0), (geometry.sideways, 1.0)):
        off = sign * (relative * axis[:, None]).sum(-1)
        # the two planes through the eye that are tangent to the bounding sphere
        spread = geometry.bounding_radius * np.sqrt(off**2 + depth**2 - geometry.bounding_radius**2)
        for end in (-1, 1):
            edge = (off * depth + end * spread) / (depth**2 - geometry.bounding_radius**2)
            place = (edge / HALF_WIDTH + 1) * (size / 2) - 0.5
            found.append(np.floor(place) if end < 0 else np.ceil(place) + 1)
    return np.asarray(np.clip(np.stack(found, axis=-1), 0, size), dtype=np.int64)


def take(geometry: SceneGeometry, rows: slice) -> SceneGeometry:
    """Select scenes."""
    return SceneGeometry(*(values[rows] for values in geometry))  # type: ignore[arg-type]


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(-1, keepdims=True)))
