"""The ray-caster, compiled by numba: 2 x 2 samples per pixel, area lamps with soft shadows, one reflection off metal.

Everything is in this one file, and the look comes in as arguments: numba's disk cache is valid as long as this file is unchanged.
No operation may be reordered or fused, so that masks agree with numpy's bit for bit. Objects are convex: an object shadows itself
only where it faces away from a lamp, and is never reflected in itself.

A scene is two tables of numbers, one row per object and one per lamp: passing many arrays from function to function would take
longer than the work itself. ``k`` is an object's row (-1: the ground); vectors are triples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rendering.geometry import CUBE, SPHERE, SceneGeometry, boxes, steps
from einstellung.scenes.rendering.look import SAMPLES, Look
from einstellung.scenes.scene import Floats

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    return cast(Function, njit(nogil=True, error_model="numpy")(function))


def _compiled_and_cached(function: Function) -> Function:
    """Compiled with everything it calls, and cached on disk."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


# columns of the object table
_X, _Y, _Z, _EXTENT, _COSINE, _SINE, _SHAPE, _BOUNDING_RADIUS, _VOLUME_RADIUS, _RED, _GREEN, _BLUE, _METAL = range(13)
_AXIS, _DISC, _DISTANCE, _POWER, _RADIUS = 3, 6, 12, 13, 16  # of the lamp table, after the position


def cast_images(geometry: SceneGeometry, look: Look, levels: Codes, size: int) -> tuple[Codes, Codes]:
    """Images [N, size, size, 3], and masks [N, size, size] of the objects at pixel centres."""
    images = np.empty((len(geometry.eye), size, size, 3), np.uint8)
    fine = size * SAMPLES
    _cast_images(
        _cameras(geometry),
        _objects(geometry),
        _lamps(geometry, look),
        look.targets,
        look.constants,
        boxes(geometry, fine),
        np.stack(steps(fine)),
        np.stack(steps(size)),
        levels,
        images,
    )
    return images, cast_masks(geometry, size)


def cast_masks(geometry: SceneGeometry, size: int) -> Codes:
    """The same masks as :func:`einstellung.scenes.rendering.numpy_masks.find_nearest`."""
    masks = np.empty((len(geometry.eye), size, size), np.uint8)
    _find_masks(_cameras(geometry), _objects(geometry), boxes(geometry, size), np.stack(steps(size)), masks)
    return masks


def _cameras(geometry: SceneGeometry) -> Floats:
    return np.stack([geometry.eye, geometry.forward, geometry.sideways, geometry.upward], axis=1)


def _objects(geometry: SceneGeometry) -> Floats:
    columns = (
        geometry.extent,
        geometry.cosine,
        geometry.sine,
        geometry.shape,
        geometry.bounding_radius,
        geometry.volume_radius,
    )
    return np.concatenate(
        [geometry.centre, np.stack(columns, axis=-1), geometry.colour, geometry.metal[..., None]], axis=-1
    )


def _lamps(geometry: SceneGeometry, look: Look) -> Floats:
    count = len(geometry.lamp)
    shared = np.broadcast_to(np.concatenate([look.power, look.radii[:, None]], axis=1), (count, len(look.radii), 4))
    disc = geometry.disc.reshape(count, len(look.radii), 6)
    return np.concatenate([geometry.lamp, geometry.axis, disc, geometry.distance[..., None], shared], axis=-1)


@_compiled_and_cached
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


@_compiled_and_cached
def _cast_images(
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
                if shown == 0:  # the ground changes slowly: shade it once per pixel, with all shadow rays
                    ray = _ray(camera, coarse, row, column)
                    red, green, blue = _shade_background(objects, lamps, targets, look, eye, ray, 0, len(targets))
                else:
                    for part in range(parts):
                        i, j = row * side + part // side, column * side + part % side
                        ray = _ray(camera, fine, i, j)
                        first, last = part * len(targets) // parts, (part + 1) * len(targets) // parts
                        if numbers[i, j] > 0:
                            point = _at(eye, distance[i, j], ray)
                            light = _shade_object(
                                objects, lamps, targets, look, numbers[i, j] - 1, point, ray, first, last
                            )
                        else:
                            light = _shade_background(objects, lamps, targets, look, eye, ray, first, last)
                        red += min(light[0], look.max_light) / parts
                        green += min(light[1], look.max_light) / parts
                        blue += min(light[2], look.max_light) / parts
                for colour, total in enumerate((red, green, blue)):
                    amount = np.sqrt(min(total / look.max_light, 1.0))
                    images[n, row, column, colour] = levels[int(amount * (len(levels) - 1) + 0.5)]


@_compiled
def _shade_object(
    objects: Any, lamps: Any, targets: Any, look: Any, k: int, point: Any, ray: Any, first: int, last: int
) -> Any:
    """The light of object k at a point, seen along a ray; shadow rays aim at targets ``first`` to ``last``."""
    normal = _normal(objects, look, k, point)
    length = np.sqrt(_dot(ray, ray))
    ray = (ray[0] / length, ray[1] / length, ray[2] / length)
    facing = _dot(normal, ray)
    reflected = _at(ray, -2 * facing, normal)
    metal = objects[k, _METAL] > 0
    diffuse, specular = _lamp_light(
        objects, lamps, targets, look, k, point, normal, reflected, 2 if metal else 1, first, last
    )
    # the ground below is in the object's own shadow: the lower, the darker
    low = min(point[2] / objects[k, _EXTENT], 1.0)
    beneath = look.bounce * (0.5 - 0.5 * normal[2]) * (0.3 + 0.7 * low)
    sky = _sky_visibility(objects, k, point, normal) * (look.sky * (0.5 + 0.5 * normal[2]) + beneath)
    colour = (objects[k, _RED], objects[k, _GREEN], objects[k, _BLUE])
    light = (colour[0] * (diffuse[0] + sky), colour[1] * (diffuse[1] + sky), colour[2] * (diffuse[2] + sky))
    if not metal:
        return light[0] + specular[0], light[1] + specular[1], light[2] + specular[2]
    reflection = _reflection(objects, lamps, targets, look, k, point, reflected)
    fresnel = 1 - min(max(-facing, 0.0), 1.0)
    fresnel = (
        0.6 * (fresnel * fresnel) * (fresnel * fresnel) * fresnel
    )  # Schlick's approximation: colourless at grazing angles
    return (
        look.metal_diffuse * light[0] + _metal_reflection(colour[0], fresnel, reflection[0], specular[0]),
        look.metal_diffuse * light[1] + _metal_reflection(colour[1], fresnel, reflection[1], specular[1]),
        look.metal_diffuse * light[2] + _metal_reflection(colour[2], fresnel, reflection[2], specular[2]),
    )


@_compiled
def _metal_reflection(colour: float, fresnel: float, reflection: float, specular: float) -> Any:
    """Reflected light of metal: brighter than rubber of the same colour; half of the highlights is not tinted."""
    share = min(1.35 * colour, 1.0) * (1 - fresnel) + fresnel
    return share * reflection + (0.5 + 0.5 * share) * specular


@_compiled
def _normal(objects: Any, look: Any, k: int, point: Any) -> Any:
    """The surface normal, blended between faces near edges above the ground, as if edges were round."""
    extent, shape = objects[k, _EXTENT], objects[k, _SHAPE]
    x, y, z = _offset(objects, k, point)
    x, y, z = x / extent, y / extent, z / extent
    if shape == CUBE:
        cosine, sine = objects[k, _COSINE], objects[k, _SINE]
        u, v, z = (
            _bevelled(look, cosine * x + sine * y),
            _bevelled(look, cosine * y - sine * x),
            max(_bevelled(look, z), 0.0),
        )
        x, y = cosine * u - sine * v, sine * u + cosine * v
    elif shape != SPHERE:
        radius = np.sqrt(x * x + y * y) + 1e-12
        outwards = _bevelled(look, radius) / radius
        x, y, z = x * outwards, y * outwards, max(_bevelled(look, z), 0.0)
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@_compiled
def _bevelled(look: Any, value: float) -> Any:
    excess = max(abs(value) - (1 - look.bevel), 0.0)
    return excess if value > 0 else -excess


@_compiled
def _shade_background(
    objects: Any, lamps: Any, targets: Any, look: Any, start: Any, ray: Any, first: int, last: int
) -> Any:
    """The light of ground or sky where a ray hits no object."""
    if ray[2] >= 0.0:
        light = look.backdrop + (look.zenith - look.backdrop) * min(1.5 * ray[2] / np.sqrt(_dot(ray, ray)), 1.0)
        return light, light, light
    x, y, _ = _at(start, -start[2] / ray[2], ray)
    away = (np.sqrt(x * x + y * y) - look.fade_from) / (look.fade_to - look.fade_from)
    if away >= 1.0:
        return look.backdrop, look.backdrop, look.backdrop
    point, upwards = (x, y, 0.0), (0.0, 0.0, 1.0)
    diffuse, _ = _lamp_light(objects, lamps, targets, look, -1, point, upwards, upwards, 0, first, last)
    sky = look.sky * _sky_visibility(objects, -1, point, upwards)
    away = max(away, 0.0)
    away = away * away * (3 - 2 * away)
    here, far = look.ground * (1 - away), look.backdrop * away
    return here * (diffuse[0] + sky) + far, here * (diffuse[1] + sky) + far, here * (diffuse[2] + sky) + far


@_compiled
def _reflection(objects: Any, lamps: Any, targets: Any, look: Any, k: int, point: Any, ray: Any) -> Any:
    """The light that reaches object k from a direction: one bounce, with hard shadows."""
    nearest, found = np.inf, -1
    for other in range(len(objects)):
        if other == k:
            continue
        near, far = _span(objects, other, _offset(objects, other, point), ray)
        if near < far and 0.0 < near < nearest:
            nearest, found = near, other
    if found < 0:
        return _shade_background(objects, lamps, targets, look, point, ray, 0, 0)
    place = _at(point, nearest, ray)
    normal = _normal(objects, look, found, place)
    diffuse, _ = _lamp_light(objects, lamps, targets, look, found, place, normal, normal, 0, 0, 0)
    sky = look.sky * (0.5 + 0.5 * normal[2]) + look.bounce * (0.5 - 0.5 * normal[2])
    return (
        objects[found, _RED] * (diffuse[0] + sky),
        objects[found, _GREEN] * (diffuse[1] + sky),
        objects[found, _BLUE] * (diffuse[2] + sky),
    )


@_compiled
def _lamp_light(
    objects: Any,
    lamps: Any,
    targets: Any,
    look: Any,
    k: int,
    point: Any,
    normal: Any,
    reflected: Any,
    glossy: int,
    first: int,
    last: int,
) -> Any:
    """Diffuse and specular light of the lamps at a point (``glossy`` 0: no highlight, 1: rubber, 2: metal)."""
    red = green = blue = specular_r = specular_g = specular_b = 0.0
    for lamp in range(len(lamps)):
        to = (lamps[lamp, _X] - point[0], lamps[lamp, _Y] - point[1], lamps[lamp, _Z] - point[2])
        cosine = _dot(normal, to)
        if cosine <= 0.0:
            continue
        square = _dot(to, to)
        inverse = 1 / np.sqrt(square)
        incidence = max(_dot(to, _triple(lamps[lamp], _AXIS)) * inverse, 0.0)
        falloff = square + look.evenness * (lamps[lamp, _DISTANCE] - square)
        reaching = (
            _lamp_visibility(objects, lamps[lamp], targets, k, point, to, square, first, last) * incidence / falloff
        )
        direct = reaching * cosine * inverse
        red += direct * lamps[lamp, _POWER]
        green += direct * lamps[lamp, _POWER + 1]
        blue += direct * lamps[lamp, _POWER + 2]
        if glossy > 0:
            bright = reaching * _highlight(look, glossy, _dot(reflected, to) * inverse)
            specular_r += bright * lamps[lamp, _POWER]
            specular_g += bright * lamps[lamp, _POWER + 1]
            specular_b += bright * lamps[lamp, _POWER + 2]
    return (red, green, blue), (specular_r, specular_g, specular_b)


@_compiled
def _highlight(look: Any, glossy: int, cosine: float) -> Any:
    """Phong highlights with exponents 8 and 64."""
    wide = max(cosine, 0.0)
    wide = wide * wide
    wide = wide * wide
    wide = wide * wide
    if glossy == 1:
        return look.rubber_specular * wide
    narrow = wide * wide
    narrow = narrow * narrow
    narrow = narrow * narrow
    return look.metal_sheen * wide + look.metal_specular * narrow


@_compiled
def _lamp_visibility(
    objects: Any, lamp: Any, targets: Any, k: int, point: Any, to: Any, square: float, first: int, last: int
) -> Any:
    """The visible share of a lamp's disc: of its targets, or of its centre if there are none."""
    hidden, count, aims = 0, 0, max(last - first, 1)
    for other in range(len(objects)):
        if other == k:
            continue
        offset = _offset(objects, other, point)
        along = -_dot(offset, to) / square
        bounding_radius, apart = objects[other, _BOUNDING_RADIUS], _dot(offset, offset)
        reach = 1.02 * (bounding_radius + lamp[_RADIUS] * max(along, 0.0))
        if apart - along * along * square > reach * reach or (
            along <= 0.0 and apart > bounding_radius * bounding_radius
        ):
            continue  # its bounding sphere cannot block any target
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
def _sky_visibility(objects: Any, k: int, point: Any, normal: Any) -> Any:
    """The share of the sky not blocked by other objects, each approximated by a sphere of its volume."""
    share = 1.0
    for other in range(len(objects)):
        if other == k:
            continue
        offset = _offset(objects, other, point)
        facing = -_dot(normal, offset)
        if facing > 0.0:
            square = _dot(offset, offset)
            volume_radius = objects[other, _VOLUME_RADIUS]
            share *= 1 - min(volume_radius * volume_radius / square, 1.0) * facing / np.sqrt(square)
    return share


@_compiled
def _offset(objects: Any, k: int, point: Any) -> Any:
    """A point relative to an object's centre."""
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
