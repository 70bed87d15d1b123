"""Where the objects of a scene stand, and how camera and lamps are moved: as CLEVR does it, with the objects given beforehand.

Objects are placed one after the other, in random order, uniformly over the square until there is room: each at least
:data:`GAP` from the next, and at least :data:`MARGIN` along both directions of the ground as the camera sees it (across and
away). Where there is no room, or an object has too few pixels, all objects are placed anew. The attributes stay: drawing them
anew as well would make small objects rare, which have fewer pixels. So do the lamps, and the camera unless places are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.scenes.attributes import RADII, Codes, in_words
from einstellung.scenes.rendering import REFERENCE, least_visible, object_masks, visible_pixels
from einstellung.scenes.rendering.geometry import CAMERA, views
from einstellung.scenes.scene import Floats, Scenes

HALF_SIDE = 3.0  # of the square that centres lie in
GAP = 0.25  # between the circles around two objects
MARGIN = 0.4
CAMERA_JITTER, LAMP_JITTER = 0.5, 1.0

_TRIES = 32  # places tried for an object before all are placed anew
_LAYOUTS = 20_000  # of a scene, before it is given up: four small cubes before a far camera may take a thousand
_MOST = 16  # layouts of a scene at once
_LOT = 1024  # scenes laid out at once: a matter of memory alone

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


def reference_masks(scenes: Scenes) -> Codes:
    """What decides whether an object is visible: the masks at one size, whatever size is rendered and with what."""
    return object_masks(scenes, REFERENCE)


def place_scenes(
    attributes: Codes,
    places: Codes | None,
    generators: Sequence[np.random.Generator],
    visible: Callable[[Scenes], Codes] = reference_masks,
) -> Scenes:
    """A layout for every scene, drawn from its own generator alone: it depends on no other scene.

    ``attributes`` [N, K, 4]; ``places`` [N, K] are quadrants of the ground as the unmoved camera sees it (0 left front, 1 right
    front, 2 left back, 3 right back), None: anywhere. ``visible`` gives the masks that decide what is visible.

    >>> kinds = np.zeros((2, 4, 4), dtype=np.uint8)
    >>> both = place_scenes(kinds, None, [np.random.default_rng(seed) for seed in (1, 2)])
    >>> second = place_scenes(kinds[1:], None, [np.random.default_rng(2)])
    >>> bool((second.position == both.position[1:]).all())
    True
    """
    lots = [slice(first, first + _LOT) for first in range(0, max(len(attributes), 1), _LOT)]
    return Scenes.joined(
        [
            _placed(attributes[lot], None if places is None else places[lot], generators[lot], visible, lot.start)
            for lot in lots
        ]
    )


def layouts_hold(
    scenes: Scenes, visible: Callable[[Scenes], Codes] = reference_masks, in_places: bool = False
) -> Booleans:
    """Which scenes keep gap and margin and show every object: what placing ensures, and changing an attribute may not.

    ``in_places``: objects were placed in quadrants.
    """
    keep = np.ones(len(scenes), dtype=bool)
    radii, axes = _radii(scenes.attributes), _ground_axes(scenes.camera)
    for one in range(radii.shape[1]):
        for other in range(one):
            between = scenes.position[:, one] - scenes.position[:, other]
            keep &= _apart(between[:, None], (radii[:, one] + radii[:, other])[:, None], axes)[:, 0]
    return keep & _all_visible(scenes, visible, in_places)


def quadrants(position: Floats) -> Codes:
    """The quadrant of the ground (see :func:`place_scenes`) in which points [..., 2] lie.

    >>> quadrants(np.array([[1.0, -2.0], [2.0, 1.0], [-2.0, -1.0], [-1.0, 2.0]])).tolist()
    [0, 1, 2, 3]
    """
    ahead, aside, _ = views(CAMERA)
    right, back = position @ aside[:2] >= 0, position @ ahead[:2] >= 0
    return (right + 2 * back).astype(np.uint8)


def _placed(
    attributes: Codes,
    places: Codes | None,
    generators: Sequence[np.random.Generator],
    visible: Callable[[Scenes], Codes],
    first: int,
) -> Scenes:
    count, objects = attributes.shape[:2]
    moved = np.stack([one.uniform(-1, 1, 12) for one in generators]) if count else np.zeros((0, 12))
    scenes = Scenes(
        attributes,
        np.empty((count, objects, 2)),
        np.empty((count, objects)),
        CAMERA_JITTER * moved[:, :3],
        LAMP_JITTER * moved[:, 3:].reshape(count, 3, 3),
    )
    waiting, done = np.arange(count), 0
    while len(waiting) and done < _LAYOUTS:
        block = min(done + 1, _MOST)  # at once: more, the longer it takes
        rows = waiting.repeat(block)
        drawn = _drawn(scenes, rows, [generators[row] for row in waiting.tolist()], places)
        holds = drawn.room
        holds[holds] = _all_visible(drawn.scenes.take(holds), visible, places is not None)
        holds = holds.reshape(-1, block)
        chosen = (holds.argmax(axis=1) + np.arange(len(waiting)) * block)[holds.any(axis=1)]
        for name in ("position", "rotation", "camera"):
            getattr(scenes, name)[rows[chosen]] = getattr(drawn.scenes, name)[chosen]
        waiting, done = waiting[~holds.any(axis=1)], done + block
    if len(waiting):
        words = [in_words(codes) for codes in attributes[waiting[0]]]
        what = ", ".join(" ".join(one[name] for name in ("size", "color", "material", "shape")) for one in words)
        raise InputError(
            f"scene {first + waiting[0]} ({what}): none of {done:,} layouts has room for all its objects and shows them all; "
            "use fewer objects, or rules that leave them more room"
        )
    return scenes


class _Drawn(NamedTuple):
    scenes: Scenes
    room: Booleans  # which of them have room for all objects


def _drawn(scenes: Scenes, rows: Numbers, generators: Sequence[np.random.Generator], places: Codes | None) -> _Drawn:
    """New layouts for the scenes in ``rows``, which names the scene of each generator equally often."""
    objects = scenes.attributes.shape[1]
    each = len(rows) // len(generators)
    numbers = np.concatenate([one.random((each, objects * (2 * _TRIES + 2) + 3)) for one in generators])
    tried, rest = np.split(numbers, [objects * 2 * _TRIES], axis=1)
    tried = tried.reshape(len(rows), objects, _TRIES, 2) * (2 * HALF_SIDE) - HALF_SIDE
    some = scenes.take(rows)
    camera = some.camera
    if places is not None:
        tried = _turned_into(tried, places[rows])
        camera = CAMERA_JITTER * (2 * rest[:, -3:] - 1)  # small objects far back are seen by a near camera alone
    order = rest[:, objects : 2 * objects].argsort(axis=1)
    position, room = _in_turn(tried, order, _radii(some.attributes), _ground_axes(camera))
    return _Drawn(Scenes(some.attributes, position, 2 * np.pi * rest[:, :objects], camera, some.lamps), room)


def _in_turn(tried: Floats, order: Numbers, radii: Floats, axes: Floats) -> tuple[Floats, Booleans]:
    """For every object in ``order`` the first of the places tried that has room beside those before it, and whether all have."""
    rows = np.arange(len(tried))
    position = np.empty((*order.shape, 2))
    room = np.ones(len(tried), dtype=bool)
    for step in range(order.shape[1]):
        item = order[:, step]
        free = np.ones((len(tried), tried.shape[2]), dtype=bool)
        for before in order[:, :step].T:
            between = tried[rows, item] - position[rows, before][:, None]
            free &= _apart(between, (radii[rows, item] + radii[rows, before])[:, None], axes)
        position[rows, item] = tried[rows, item, free.argmax(axis=1)]
        room &= free.any(axis=1)
    return position, room


def _apart(between: Floats, radii: Floats, axes: Floats) -> Booleans:
    """Whether objects with such differences of place [N, T, 2] keep gap and margin; ``radii`` [N, 1] of both together."""
    x, y = between[..., 0], between[..., 1]
    across = np.abs(x * axes[:, None, 0] + y * axes[:, None, 1])
    away = np.abs(y * axes[:, None, 0] - x * axes[:, None, 1])
    return (np.sqrt(x * x + y * y) - radii >= GAP) & (across >= MARGIN) & (away >= MARGIN)


def _all_visible(scenes: Scenes, visible: Callable[[Scenes], Codes], in_places: bool) -> Booleans:
    """Where objects must stand at the back, small ones there need to show half as much: with the usual rule many never would."""
    masks = visible(scenes)
    least = least_visible(masks.shape[-1]) // (2 if in_places else 1)
    enough = visible_pixels(masks, scenes.attributes.shape[1]) >= least
    return np.asarray(enough.all(axis=1))


def _ground_axes(camera: Floats) -> Floats:
    """The direction to the right, on the ground, of each moved camera [N, 2]; straight away from it is at a right angle."""
    return views(CAMERA + camera)[1][:, :2]


def _radii(attributes: Codes) -> Floats:
    """Of the circle on the ground around each object, [N, K]: for a cube it goes through the corners."""
    return np.array(RADII)[attributes[..., 1]]


def _turned_into(tried: Floats, places: Codes) -> Floats:
    """Points [N, K, T, 2] turned by quarters about the middle into their quadrants [N, K].

    Quarter turns map the square onto itself and the quadrants onto each other: what was uniform stays so.
    """
    quarters = np.array([0, 1, 3, 2])  # by quadrant, counted to the left from left front
    turns = (quarters[places][..., None] - quarters[quadrants(tried)]) % 4
    x, y = tried[..., 0], tried[..., 1]
    return np.stack([np.choose(turns, [x, -y, -x, y]), np.choose(turns, [y, x, -y, -x])], axis=-1)
