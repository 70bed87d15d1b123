"""The ray-caster, compiled by numba: rays through a 2 x 2 grid of every pixel, lamps with soft shadows, one bounce off metal.

All of it stands in this one file, and the numbers that the look is made of come in as arguments: numba keeps compiled code for as
long as this file stays the same. No operation may be reordered or fused, so that masks agree with numpy's to the last bit.
Objects are convex: none is hidden from a lamp by itself other than by facing away, and none is mirrored in itself.

A scene comes as two tables of numbers, one row for each object and for each lamp: handing over the many arrays of a stage from
function to function would take longer than the work itself. ``k`` is an object's row (-1: the ground); vectors are triples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import CUBE, SPHERE, Stage, boxes, steps
from einstellung.scenes.rendering.look import SAMPLES, Look
from einstellung.scenes.scene import Floats

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    return cast(Function, njit(nogil=True, error_model="numpy")(function))


def _kept(function: Function) -> Function:
    """Compiled with all that it calls, and kept on disk."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


# columns of the tables
_X, _Y, _Z, _EXTENT, _COSINE, _SINE, _SHAPE, _BOUND, _BULK, _RED, _GREEN, _BLUE, _METAL = range(13)
_AXIS, _DISC, _DISTANCE, _POWER, _RADIUS = 3, 6, 12, 13, 16  # of a lamp, after its place


def paint(on: Stage, look: Look, levels: Codes, size: int) -> tuple[Codes, Codes]:
    """The pictures [N, size, size, 3], and the masks [N, size, size] of what is seen at the pixels' centres."""
    images = np.empty((len(on.eye), size, size, 3), np.uint8)
    fine = size * SAMPLES
    _paint(
        _cameras(on),
        _objects(on),
        _lamps(on, look),
        look.targets,
        look.numbers,
        boxes(on, fine),
        np.stack(steps(fine)),
        np.stack(steps(size)),
        levels,
        images,
    )
    return images, cast_masks(on, size)


def cast_masks(on: Stage, size: int) -> Codes:
    """The numbers that :func:`einstellung.scenes.rendering.numpy_masks.find_nearest` finds."""
    masks = np.empty((len(on.eye), size, size), np.uint8)
    _find_masks(_cameras(on), _objects(on), boxes(on, size), np.stack(steps(size)), masks)
    return masks


def _cameras(on: Stage) -> Floats:
    return np.stack([on.eye, on.ahead, on.aside, on.above], axis=1)


def _objects(on: Stage) -> Floats:
    columns = (on.extent, on.cosine, on.sine, on.shape, on.bound, on.bulk)
    return np.concatenate([on.centre, np.stack(columns, axis=-1), on.colour, on.metal[..., None]], axis=-1)


def _lamps(on: Stage, look: Look) -> Floats:
    count = len(on.lamp)
    shared = np.broadcast_to(np.concatenate([look.power, look.radii[:, None]], axis=1), (count, len(look.radii), 4))
    disc = on.disc.reshape(count, len(look.radii), 6)
    return np.concatenate([on.lamp, on.axis, disc, on.distance[..., None], shared], axis=-1)


@_kept
def _find_masks(cameras: Any, objects: Any, places: Any, grid: Any, masks: Any) -> None:
    distance = np.empty(masks.shape[1:])
    for n in range(len(masks)):
        _find_nearest(cameras[n], objects[n], places[n], grid, masks[n], distance)


@_compiled
def _find_nearest(camera: Any, objects: Any, places: Any, grid: Any, numbers: Any, distance: Any) -> None:
    numbers[:] = 0
    distance[:] = np.inf
    for k in range(len(objects)):
        offset = _offset(objects, k, _triple(camera[0], 0))
        for row in range(places[k, 0], places[k, 1]):
            for column in range(places[k, 2], places[k, 3]):
                near, far = _span(objects, k, offset, _ray(camera, grid, row, column))
                if near < far and near < distance[row, column]:
                    distance[row, column] = near
                    numbers[row, column] = k + 1


@_compiled
def _ray(camera: Any, grid: Any, row: int, column: int) -> Any:
    across, up = grid[0, column], grid[1, row]
    return (
        (camera[1, 0] + across * camera[2, 0]) + up * camera[3, 0],
        (camera[1, 1] + across * camera[2, 1]) + up * camera[3, 1],
        (camera[1, 2] + across * camera[2, 2]) + up * camera[3, 2],
    )


@_compiled
def _span(objects: Any, k: int, offset: Any, direction: Any) -> Any:
    """The formulas of :mod:`einstellung.scenes.rendering.spans`, operation by operation."""
    (ox, oy, oz), (dx, dy, dz) = offset, direction
    shape, extent = objects[k, _SHAPE], objects[k, _EXTENT]
    if shape == SPHERE:
        a = dx * dx + dy * dy + dz * dz
        b = ox * dx + oy * dy + oz * dz
        c = ox * ox + oy * oy + oz * oz - extent * extent
        under = b * b - a * c
        if under <= 0.0:
            return 1.0, 0.0
        root = np.sqrt(under)
        return (-b - root) / a, (-b + root) / a
    low, high = _slab(oz, dz, extent)
    if shape == CUBE:
        cosine, sine = objects[k, _COSINE], objects[k, _SINE]
        near, far = _slab(cosine * ox + sine * oy, cosine * dx + sine * dy, extent)
        low, high = max(low, near), min(high, far)
        near, far = _slab(cosine * oy - sine * ox, cosine * dy - sine * dx, extent)
        return max(low, near), min(high, far)
    a = dx * dx + dy * dy
    b = ox * dx + oy * dy
    c = ox * ox + oy * oy - extent * extent
    under = b * b - a * c
    if under <= 0.0:
        return 1.0, 0.0
    root = np.sqrt(under)
    return max((-b - root) / a, low), min((-b + root) / a, high)


@_compiled
def _slab(offset: float, direction: float, extent: float) -> Any:
    one, other = (-extent - offset) / direction, (extent - offset) / direction
    return min(one, other), max(one, other)


@_kept
def _paint(
    cameras: Any,
    all_objects: Any,
    all_lamps: Any,
    targets: Any,
    look: Any,
    places: Any,
    fine: Any,
    coarse: Any,
    levels: Any,
    images: Any,
) -> None:
    size, side = images.shape[1], fine.shape[1] // images.shape[1]
    parts = side * side
    numbers, distance = np.empty((size * side, size * side), np.uint8), np.empty((size * side, size * side))
    for n in range(len(images)):
        camera, objects, lamps = cameras[n], all_objects[n], all_lamps[n]
        eye = _triple(camera[0], 0)
        _find_nearest(camera, objects, places[n], fine, numbers, distance)
        for row in range(size):
            for column in range(size):
                red = green = blue = 0.0
                shown = 0
                for part in range(parts):
                    shown += numbers[row * side + part // side, column * side + part % side]
                if shown == 0:  # ground changes slowly: once for the whole pixel, with the aims of all its parts
                    ray = _ray(camera, coarse, row, column)
                    red, green, blue = _beyond(objects, lamps, targets, look, eye, ray, 0, len(targets))
                else:
                    for part in range(parts):
                        i, j = row * side + part // side, column * side + part % side
                        ray = _ray(camera, fine, i, j)
                        first, last = part * len(targets) // parts, (part + 1) * len(targets) // parts
                        if numbers[i, j] > 0:
                            point = _at(eye, distance[i, j], ray)
                            light = _of_object(
                                objects, lamps, targets, look, numbers[i, j] - 1, point, ray, first, last
                            )
                        else:
                            light = _beyond(objects, lamps, targets, look, eye, ray, first, last)
                        red += min(light[0], look.brightest) / parts
                        green += min(light[1], look.brightest) / parts
                        blue += min(light[2], look.brightest) / parts
                for colour, total in enumerate((red, green, blue)):
                    amount = np.sqrt(min(total / look.brightest, 1.0))
                    images[n, row, column, colour] = levels[int(amount * (len(levels) - 1) + 0.5)]


@_compiled
def _of_object(
    objects: Any, lamps: Any, targets: Any, look: Any, k: int, point: Any, ray: Any, first: int, last: int
) -> Any:
    """The light of object k at a point, as seen along a ray; ``first`` and ``last`` of the targets on a lamp are aimed at."""
    normal = _normal(objects, look, k, point)
    length = np.sqrt(_dot(ray, ray))
    ray = (ray[0] / length, ray[1] / length, ray[2] / length)
    facing = _dot(normal, ray)
    bent = _at(ray, -2 * facing, normal)
    metal = objects[k, _METAL] > 0
    matt, shine = _lit(objects, lamps, targets, look, k, point, normal, bent, 2 if metal else 1, first, last)
    # the ground beneath is in the object's own shadow: the lower, the darker
    low = min(point[2] / objects[k, _EXTENT], 1.0)
    beneath = look.bounce * (0.5 - 0.5 * normal[2]) * (0.3 + 0.7 * low)
    sky = _openness(objects, k, point, normal) * (look.sky * (0.5 + 0.5 * normal[2]) + beneath)
    colour = (objects[k, _RED], objects[k, _GREEN], objects[k, _BLUE])
    light = (colour[0] * (matt[0] + sky), colour[1] * (matt[1] + sky), colour[2] * (matt[2] + sky))
    if not metal:
        return light[0] + shine[0], light[1] + shine[1], light[2] + shine[2]
    mirrored = _mirrored(objects, lamps, targets, look, k, point, bent)
    glance = 1 - min(max(-facing, 0.0), 1.0)
    glance = 0.6 * (glance * glance) * (glance * glance) * glance  # Schlick's: colourless where it is seen aslant
    return (
        look.metal_matt * light[0] + _sent(colour[0], glance, mirrored[0], shine[0]),
        look.metal_matt * light[1] + _sent(colour[1], glance, mirrored[1], shine[1]),
        look.metal_matt * light[2] + _sent(colour[2], glance, mirrored[2], shine[2]),
    )


@_compiled
def _sent(colour: float, glance: float, mirrored: float, shine: float) -> Any:
    """What metal mirrors: more than rubber of the same colour sends back, and of the lamps themselves half without its colour."""
    share = min(1.35 * colour, 1.0) * (1 - glance) + glance
    return share * mirrored + (0.5 + 0.5 * share) * shine


@_compiled
def _normal(objects: Any, look: Any, k: int, point: Any) -> Any:
    """Outwards from the surface; near an edge off the ground it turns to the other face, as if the edge were round."""
    extent, shape = objects[k, _EXTENT], objects[k, _SHAPE]
    x, y, z = _offset(objects, k, point)
    x, y, z = x / extent, y / extent, z / extent
    if shape == CUBE:
        cosine, sine = objects[k, _COSINE], objects[k, _SINE]
        u, v, z = _rim(look, cosine * x + sine * y), _rim(look, cosine * y - sine * x), max(_rim(look, z), 0.0)
        x, y = cosine * u - sine * v, sine * u + cosine * v
    elif shape != SPHERE:
        radius = np.sqrt(x * x + y * y) + 1e-12
        outwards = _rim(look, radius) / radius
        x, y, z = x * outwards, y * outwards, max(_rim(look, z), 0.0)
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@_compiled
def _rim(look: Any, value: float) -> Any:
    over = max(abs(value) - (1 - look.bevel), 0.0)
    return over if value > 0 else -over


@_compiled
def _beyond(objects: Any, lamps: Any, targets: Any, look: Any, start: Any, ray: Any, first: int, last: int) -> Any:
    """The light of ground or sky, where a ray meets nothing else."""
    if ray[2] >= 0.0:
        light = look.backdrop + (look.zenith - look.backdrop) * min(1.5 * ray[2] / np.sqrt(_dot(ray, ray)), 1.0)
        return light, light, light
    x, y, _ = _at(start, -start[2] / ray[2], ray)
    away = (np.sqrt(x * x + y * y) - look.fade_from) / (look.fade_to - look.fade_from)
    if away >= 1.0:
        return look.backdrop, look.backdrop, look.backdrop
    point, upwards = (x, y, 0.0), (0.0, 0.0, 1.0)
    matt, _ = _lit(objects, lamps, targets, look, -1, point, upwards, upwards, 0, first, last)
    sky = look.sky * _openness(objects, -1, point, upwards)
    away = max(away, 0.0)
    away = away * away * (3 - 2 * away)
    here, far = look.ground * (1 - away), look.backdrop * away
    return here * (matt[0] + sky) + far, here * (matt[1] + sky) + far, here * (matt[2] + sky) + far


@_compiled
def _mirrored(objects: Any, lamps: Any, targets: Any, look: Any, k: int, point: Any, ray: Any) -> Any:
    """The light that reaches object k from a direction; shadows in it have sharp edges."""
    nearest, found = np.inf, -1
    for other in range(len(objects)):
        if other == k:
            continue
        near, far = _span(objects, other, _offset(objects, other, point), ray)
        if near < far and 0.0 < near < nearest:
            nearest, found = near, other
    if found < 0:
        return _beyond(objects, lamps, targets, look, point, ray, 0, 0)
    place = _at(point, nearest, ray)
    normal = _normal(objects, look, found, place)
    matt, _ = _lit(objects, lamps, targets, look, found, place, normal, normal, 0, 0, 0)
    sky = look.sky * (0.5 + 0.5 * normal[2]) + look.bounce * (0.5 - 0.5 * normal[2])
    return (
        objects[found, _RED] * (matt[0] + sky),
        objects[found, _GREEN] * (matt[1] + sky),
        objects[found, _BLUE] * (matt[2] + sky),
    )


@_compiled
def _lit(
    objects: Any,
    lamps: Any,
    targets: Any,
    look: Any,
    k: int,
    point: Any,
    normal: Any,
    bent: Any,
    shiny: int,
    first: int,
    last: int,
) -> Any:
    """What the lamps send to a point, and what of it is sent on as a highlight (``shiny`` 0: none, 1: rubber's, 2: metal's)."""
    red = green = blue = shine_r = shine_g = shine_b = 0.0
    for lamp in range(len(lamps)):
        to = (lamps[lamp, _X] - point[0], lamps[lamp, _Y] - point[1], lamps[lamp, _Z] - point[2])
        cosine = _dot(normal, to)
        if cosine <= 0.0:
            continue
        square = _dot(to, to)
        inverse = 1 / np.sqrt(square)
        aslant = max(_dot(to, _triple(lamps[lamp], _AXIS)) * inverse, 0.0)
        falling_off = square + look.evenness * (lamps[lamp, _DISTANCE] - square)
        reaching = _unhidden(objects, lamps[lamp], targets, k, point, to, square, first, last) * aslant / falling_off
        direct = reaching * cosine * inverse
        red += direct * lamps[lamp, _POWER]
        green += direct * lamps[lamp, _POWER + 1]
        blue += direct * lamps[lamp, _POWER + 2]
        if shiny > 0:
            bright = reaching * _highlight(look, shiny, _dot(bent, to) * inverse)
            shine_r += bright * lamps[lamp, _POWER]
            shine_g += bright * lamps[lamp, _POWER + 1]
            shine_b += bright * lamps[lamp, _POWER + 2]
    return (red, green, blue), (shine_r, shine_g, shine_b)


@_compiled
def _highlight(look: Any, shiny: int, cosine: float) -> Any:
    """By powers 8 and 64 of the cosine between lamp and mirrored ray."""
    wide = max(cosine, 0.0)
    wide = wide * wide
    wide = wide * wide
    wide = wide * wide
    if shiny == 1:
        return look.matt_shine * wide
    narrow = wide * wide
    narrow = narrow * narrow
    narrow = narrow * narrow
    return look.metal_glow * wide + look.metal_shine * narrow


@_compiled
def _unhidden(
    objects: Any, lamp: Any, targets: Any, k: int, point: Any, to: Any, square: float, first: int, last: int
) -> Any:
    """The share of a lamp's disc that is seen from a point: of the targets on it, or (none given) of its middle alone."""
    hidden, count, aims = 0, 0, max(last - first, 1)
    for other in range(len(objects)):
        if other == k:
            continue
        offset = _offset(objects, other, point)
        along = -_dot(offset, to) / square
        bound, apart = objects[other, _BOUND], _dot(offset, offset)
        reach = 1.02 * (bound + lamp[_RADIUS] * max(along, 0.0))
        if apart - along * along * square > reach * reach or (along <= 0.0 and apart > bound * bound):
            continue  # the sphere around it is out of the way, wherever on the lamp one aims
        for aim in range(aims):
            if hidden >> aim & 1:
                continue
            target = to
            if last > first:
                target = _at(target, targets[first + aim, 0], _triple(lamp, _DISC))
                target = _at(target, targets[first + aim, 1], _triple(lamp, _DISC + 3))
            near, far = _span(objects, other, offset, target)
            if near < far and far > 0.0 and near < 1.0:
                hidden |= 1 << aim
                count += 1
    return 1 - count / aims


@_compiled
def _openness(objects: Any, k: int, point: Any, normal: Any) -> Any:
    """The share of the sky that the other objects leave, each taken for a sphere of its volume."""
    share = 1.0
    for other in range(len(objects)):
        if other == k:
            continue
        offset = _offset(objects, other, point)
        towards = -_dot(normal, offset)
        if towards > 0.0:
            square = _dot(offset, offset)
            bulk = objects[other, _BULK]
            share *= 1 - min(bulk * bulk / square, 1.0) * towards / np.sqrt(square)
    return share


@_compiled
def _offset(objects: Any, k: int, point: Any) -> Any:
    """A point as seen from an object's centre."""
    return point[0] - objects[k, _X], point[1] - objects[k, _Y], point[2] - objects[k, _Z]


@_compiled
def _at(start: Any, distance: float, ray: Any) -> Any:
    return start[0] + distance * ray[0], start[1] + distance * ray[1], start[2] + distance * ray[2]


@_compiled
def _dot(one: Any, other: Any) -> Any:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


@_compiled
def _triple(row: Any, first: int) -> Any:
    return row[first], row[first + 1], row[first + 2]
