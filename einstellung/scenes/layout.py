"""Layouts of scenes: object positions, and the jitter of camera and lamps, as in CLEVR but for given objects.

Objects are placed in random order, uniformly over the square, by rejection: at least :data:`GAP` between any two, and at least
:data:`MARGIN` along both ground directions of the camera (sideways and depth). If an object does not fit or has too few visible
pixels, all objects are placed again. The attributes are never redrawn: that would make small objects, which have fewer pixels,
rare. Lamps are not redrawn either, nor is the camera unless places are given. A layout may have to suit a second set of objects,
the scene's counterpart (:mod:`einstellung.scenes.class_scenes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.scenes.attributes import RADII, Codes, describe_object
from einstellung.scenes.rendering import REFERENCE, least_visible, object_masks, visible_pixels
from einstellung.scenes.rendering.geometry import CAMERA, views
from einstellung.scenes.scene import Floats, Scenes

HALF_SIDE = 3.0  # of the square of possible centres
GAP = 0.25  # between the bounding circles of two objects
MARGIN = 0.4
CAMERA_JITTER, LAMP_JITTER = 0.5, 1.0

_TRIES = 32  # positions tried per object before all are placed again
_MAX_LAYOUTS = 20_000  # per scene before giving up: four small cubes and a distant camera may take a thousand
_MAX_BLOCK = 16  # layouts of a scene sampled at once
_CHUNK = 1024  # scenes laid out at once; bounds memory

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


def reference_masks(scenes: Scenes) -> Codes:
    """The masks that decide visibility: always at the same size, whatever size and backend are rendered."""
    return object_masks(scenes, REFERENCE)


def place_scenes(
    attributes: Codes,
    places: Codes | None,
    generators: Sequence[np.random.Generator],
    visible: Callable[[Scenes], Codes] = reference_masks,
    counterparts: Codes | None = None,
) -> Scenes:
    """Lay out every scene with its own generator, so that a layout depends on no other scene.

    ``attributes`` [N, K, 4]; ``places`` [N, K] are quadrants of the ground as seen by the camera without jitter (0 left front,
    1 right front, 2 left back, 3 right back), None: anywhere. ``visible`` computes the masks that decide visibility.
    ``counterparts`` [N, K, 4] are other attributes with which each layout must be valid, too.

    >>> kinds = np.zeros((2, 4, 4), dtype=np.uint8)
    >>> both = place_scenes(kinds, None, [np.random.default_rng(seed) for seed in (1, 2)])
    >>> second = place_scenes(kinds[1:], None, [np.random.default_rng(2)])
    >>> bool((second.position == both.position[1:]).all())
    True
    """
    chunks = [slice(first, first + _CHUNK) for first in range(0, max(len(attributes), 1), _CHUNK)]
    return Scenes.joined(
        [
            _place_chunk(
                attributes[chunk],
                None if places is None else places[chunk],
                generators[chunk],
                visible,
                attributes[chunk] if counterparts is None else counterparts[chunk],
                chunk.start,
            )
            for chunk in chunks
        ]
    )


def layouts_valid(
    scenes: Scenes, visible: Callable[[Scenes], Codes] = reference_masks, in_places: bool = False
) -> Booleans:
    """Which scenes keep gap and margin and show every object: true after placing, not always after an attribute changed.

    ``in_places``: objects were placed in quadrants.
    """
    keep = np.ones(len(scenes), dtype=bool)
    reach, axes = _reach(scenes.attributes), _ground_axes(scenes.camera)
    for one in range(reach.shape[1]):
        for other in range(one):
            between = scenes.position[:, one] - scenes.position[:, other]
            keep &= _far_enough(between[:, None], reach[:, one, other][:, None], axes)[:, 0]
    return keep & _all_visible(scenes, visible, in_places)


def quadrants(position: Floats) -> Codes:
    """The quadrant of the ground (see :func:`place_scenes`) of points [..., 2].

    >>> quadrants(np.array([[1.0, -2.0], [2.0, 1.0], [-2.0, -1.0], [-1.0, 2.0]])).tolist()
    [0, 1, 2, 3]
    """
    ahead, aside, _ = views(CAMERA)
    right, back = position @ aside[:2] >= 0, position @ ahead[:2] >= 0
    return (right + 2 * back).astype(np.uint8)


def _place_chunk(
    attributes: Codes,
    places: Codes | None,
    generators: Sequence[np.random.Generator],
    visible: Callable[[Scenes], Codes],
    counterparts: Codes,
    first: int,
) -> Scenes:
    count, objects = attributes.shape[:2]
    jitter = np.stack([one.uniform(-1, 1, 12) for one in generators]) if count else np.zeros((0, 12))
    scenes = Scenes(
        attributes,
        np.empty((count, objects, 2)),
        np.empty((count, objects)),
        CAMERA_JITTER * jitter[:, :3],
        LAMP_JITTER * jitter[:, 3:].reshape(count, 3, 3),
    )
    reach = np.maximum(_reach(attributes), _reach(counterparts))
    alternatives = [attributes] if counterparts is attributes else [attributes, counterparts]
    pending, done = np.arange(count), 0
    while len(pending) and done < _MAX_LAYOUTS:
        block = min(done + 1, _MAX_BLOCK)  # larger blocks, the longer it takes
        rows = pending.repeat(block)
        sampled = _sample_layouts(scenes, rows, [generators[row] for row in pending.tolist()], places, reach)
        valid = sampled.fits
        for codes in alternatives:
            shown = replace(sampled.scenes.take(valid), attributes=codes[rows[valid]])
            valid[valid] = _all_visible(shown, visible, places is not None)
        valid = valid.reshape(-1, block)
        chosen = (valid.argmax(axis=1) + np.arange(len(pending)) * block)[valid.any(axis=1)]
        for name in ("position", "rotation", "camera"):
            getattr(scenes, name)[rows[chosen]] = getattr(sampled.scenes, name)[chosen]
        pending, done = pending[~valid.any(axis=1)], done + block
    if len(pending):
        words = [describe_object(codes) for codes in attributes[pending[0]]]
        what = ", ".join(" ".join(one[name] for name in ("size", "color", "material", "shape")) for one in words)
        raise InputError(
            f"scene {first + pending[0]} ({what}): none of {done:,} layouts fits and shows all its objects; "
            "use fewer objects, or rules that leave more room"
        )
    return scenes


class _Layouts(NamedTuple):
    scenes: Scenes
    fits: Booleans  # which of them have room for all objects


def _sample_layouts(
    scenes: Scenes, rows: Numbers, generators: Sequence[np.random.Generator], places: Codes | None, reach: Floats
) -> _Layouts:
    """Sample layouts for the scenes in ``rows``; every generator's scene appears equally often. ``reach``: see :func:`_reach`."""
    objects = scenes.attributes.shape[1]
    each = len(rows) // len(generators)
    numbers = np.concatenate([one.random((each, objects * (2 * _TRIES + 2) + 3)) for one in generators])
    tries, rest = np.split(numbers, [objects * 2 * _TRIES], axis=1)
    tries = tries.reshape(len(rows), objects, _TRIES, 2) * (2 * HALF_SIDE) - HALF_SIDE
    some = scenes.take(rows)
    camera = some.camera
    if places is not None:
        tries = _rotated_into(tries, places[rows])
        camera = CAMERA_JITTER * (2 * rest[:, -3:] - 1)  # only a close camera shows small objects at the back
    order = rest[:, objects : 2 * objects].argsort(axis=1)
    position, fits = _place_in_order(tries, order, reach[rows], _ground_axes(camera))
    return _Layouts(Scenes(some.attributes, position, 2 * np.pi * rest[:, :objects], camera, some.lamps), fits)


def _place_in_order(tries: Floats, order: Numbers, reach: Floats, axes: Floats) -> tuple[Floats, Booleans]:
    """The first position tried for each object, in ``order``, that fits next to the earlier ones; and whether all fit."""
    rows = np.arange(len(tries))
    position = np.empty((*order.shape, 2))
    fits = np.ones(len(tries), dtype=bool)
    for step in range(order.shape[1]):
        item = order[:, step]
        free = np.ones((len(tries), tries.shape[2]), dtype=bool)
        for before in order[:, :step].T:
            between = tries[rows, item] - position[rows, before][:, None]
            free &= _far_enough(between, reach[rows, item, before][:, None], axes)
        position[rows, item] = tries[rows, item, free.argmax(axis=1)]
        fits &= free.any(axis=1)
    return position, fits


def _far_enough(between: Floats, reach: Floats, axes: Floats) -> Booleans:
    """Whether objects with these position differences [N, T, 2] keep gap and margin; ``reach`` [N, 1]: see :func:`_reach`."""
    x, y = between[..., 0], between[..., 1]
    across = np.abs(x * axes[:, None, 0] + y * axes[:, None, 1])
    away = np.abs(y * axes[:, None, 0] - x * axes[:, None, 1])
    return (np.sqrt(x * x + y * y) - reach >= GAP) & (across >= MARGIN) & (away >= MARGIN)


def _all_visible(scenes: Scenes, visible: Callable[[Scenes], Codes], in_places: bool) -> Booleans:
    """Whether every object has enough visible pixels; half as many suffice where places are given, or many scenes never fit."""
    masks = visible(scenes)
    least = least_visible(masks.shape[-1]) // (2 if in_places else 1)
    enough = visible_pixels(masks, scenes.attributes.shape[1]) >= least
    return np.asarray(enough.all(axis=1))


def _ground_axes(camera: Floats) -> Floats:
    """The sideways ground direction [N, 2] of each camera; the depth direction is perpendicular to it."""
    return views(CAMERA + camera)[1][:, :2]


def _reach(attributes: Codes) -> Floats:
    """The sum of two objects' radii [N, K, K]: of their bounding circles on the ground; for a cube, through its corners."""
    radii = np.array(RADII)[attributes[..., 1]]
    return np.asarray(radii[:, :, None] + radii[:, None, :])


def _rotated_into(tries: Floats, places: Codes) -> Floats:
    """Rotate points [N, K, T, 2] by quarter turns about the centre into their quadrants [N, K].

    Quarter turns map the square to itself and quadrants to quadrants, so a uniform distribution stays uniform.
    """
    quarters = np.array([0, 1, 3, 2])  # by quadrant, counter-clockwise from left front
    turns = (quarters[places][..., None] - quarters[quadrants(tries)]) % 4
    x, y = tries[..., 0], tries[..., 1]
    return np.stack([np.choose(turns, [x, -y, -x, y]), np.choose(turns, [y, x, -y, -x])], axis=-1)
