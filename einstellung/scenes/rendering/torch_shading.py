"""Shading of objects and ground for many rays at once; the compiled version is in ``numba_caster``.

``rows`` is the scene of each ray or point. A vector is three tensors with one number per ray. ``targets`` [aims, 1, 2] are the
points on the lamps' discs that shadow rays aim at. ``geometry`` is a :class:`SceneGeometry` of tensors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from einstellung.scenes.rendering.geometry import CUBE, CYLINDER, SPHERE
from einstellung.scenes.rendering.look import Look
from einstellung.scenes.rendering.spans import rotated, span

Vector = tuple[Tensor, Tensor, Tensor]


def shade_objects(
    geometry: Any, look: Look, rows: Tensor, item: Tensor, distance: Tensor, ray: Vector, targets: Tensor
) -> Vector:
    """The light of the objects hit by rays from the eye."""
    point = _vector(geometry.eye[rows, axis] + distance * ray[axis] for axis in range(3))
    normal = _normals(geometry, look, rows, item, point)
    length = _dot(ray, ray).sqrt()
    ray = _vector(axis / length for axis in ray)
    facing = _dot(normal, ray)
    reflected = _vector(along - 2 * facing * axis for along, axis in zip(ray, normal, strict=True))
    metal = geometry.metal[rows, item]
    diffuse, specular = _lamp_light(geometry, look, rows, item, point, normal, reflected, metal, targets)
    low = (point[2] / geometry.extent[rows, item]).clamp(max=1)
    beneath = look.constants.bounce * (0.5 - 0.5 * normal[2]) * (0.3 + 0.7 * low)
    sky = _sky_visibility(geometry, rows, item, point, normal) * (
        look.constants.sky * (0.5 + 0.5 * normal[2]) + beneath
    )
    colour = _vector(geometry.colour[rows, item, axis] for axis in range(3))
    light = [share * (reaching + sky) for share, reaching in zip(colour, diffuse, strict=True)]
    fresnel = 1 - (-facing).clamp(0, 1)
    fresnel = 0.6 * (fresnel * fresnel) * (fresnel * fresnel) * fresnel
    glossy = metal.nonzero()[:, 0]
    reflection = _reflection(
        geometry,
        look,
        rows[glossy],
        item[glossy],
        _vector(a[glossy] for a in point),
        _vector(a[glossy] for a in reflected),
    )
    for axis in range(3):
        whole = light[axis] + specular[axis]
        tint = (1.35 * colour[axis]).clamp(max=1)
        share = (tint * (1 - fresnel) + fresnel)[glossy]
        sent = share * reflection[axis] + (0.5 + 0.5 * share) * specular[axis][glossy]
        whole[glossy] = look.constants.metal_diffuse * light[axis][glossy] + sent
        light[axis] = whole
    return _vector(light)


def shade_background(
    geometry: Any, look: Look, rows: Tensor, start: Vector, ray: Vector, targets: Tensor | None
) -> Vector:
    """The light of ground or sky where rays hit no object; without targets, shadows have hard edges."""
    rising = ray[2] / _dot(ray, ray).sqrt()
    light = look.constants.backdrop + (look.constants.zenith - look.constants.backdrop) * (1.5 * rising).clamp(0, 1)
    found = _vector(light.clone() for _ in range(3))
    t = -start[2] / ray[2]
    x, y = start[0] + t * ray[0], start[1] + t * ray[1]
    away = ((x * x + y * y).sqrt() - look.constants.fade_from) / (look.constants.fade_to - look.constants.fade_from)
    near = ((ray[2] < 0) & (away < 1)).nonzero()[:, 0]
    rows, x, y, away = rows[near], x[near], y[near], away[near].clamp(min=0)
    level = torch.zeros_like(x)
    ground, upwards = (x, y, level), (level, level, torch.ones_like(x))
    nothing = torch.full_like(rows, -1)
    diffuse, _ = _lamp_light(geometry, look, rows, nothing, ground, upwards, None, None, targets)
    sky = look.constants.sky * _sky_visibility(geometry, rows, nothing, ground, upwards)
    away = away * away * (3 - 2 * away)
    here, far = look.constants.ground * (1 - away), look.constants.backdrop * away
    for axis in range(3):
        found[axis][near] = here * (diffuse[axis] + sky) + far
    return found


def _reflection(geometry: Any, look: Look, rows: Tensor, item: Tensor, point: Vector, ray: Vector) -> Vector:
    """The light that reaches objects from a direction: one bounce."""
    nearest = torch.full_like(point[0], torch.inf)
    found = torch.full_like(rows, -1)
    for other in range(geometry.shape.shape[1]):
        offset = _vector(point[axis] - geometry.centre[rows, other, axis] for axis in range(3))
        for shape, some in _by_shape(geometry, rows, other, (item != other).nonzero()[:, 0]):
            near, far = _span(geometry, shape, rows[some], other, _pick(offset, some), _pick(ray, some))
            hit = (near < far) & (near > 0) & (near < nearest[some])
            nearest[some[hit]], found[some[hit]] = near[hit], other
    light = shade_background(geometry, look, rows, point, ray, None)
    hit = (found >= 0).nonzero()[:, 0]
    rows, item, t = rows[hit], found[hit], nearest[hit]
    place = _vector(point[axis][hit] + t * ray[axis][hit] for axis in range(3))
    normal = _normals(geometry, look, rows, item, place)
    diffuse, _ = _lamp_light(geometry, look, rows, item, place, normal, None, None, None)
    sky = look.constants.sky * (0.5 + 0.5 * normal[2]) + look.constants.bounce * (0.5 - 0.5 * normal[2])
    for axis in range(3):
        light[axis][hit] = geometry.colour[rows, item, axis] * (diffuse[axis] + sky)
    return light


def _lamp_light(
    geometry: Any,
    look: Look,
    rows: Tensor,
    item: Tensor,
    point: Vector,
    normal: Vector,
    reflected: Vector | None,
    metal: Tensor | None,
    targets: Tensor | None,
) -> tuple[Vector, Vector]:
    """Diffuse and specular light of the lamps at points of objects (-1: of the ground)."""
    power = look.power.tolist()
    diffuse, specular = (_vector(torch.zeros_like(point[0]) for _ in range(3)) for _ in range(2))
    for lamp in range(geometry.lamp.shape[1]):
        to = _vector(geometry.lamp[rows, lamp, axis] - point[axis] for axis in range(3))
        square = _dot(to, to)
        inverse = 1 / square.sqrt()
        cosine = _dot(normal, to)
        axis_of_lamp = _vector(geometry.axis[rows, lamp, axis] for axis in range(3))
        incidence = (_dot(to, axis_of_lamp) * inverse).clamp(min=0) * (cosine > 0)
        falloff = square + look.constants.evenness * (geometry.distance[rows, lamp] - square)
        reaching = _lamp_visibility(geometry, look, rows, item, lamp, point, to, square, targets) * incidence / falloff
        direct = reaching * cosine * inverse
        for axis in range(3):
            diffuse[axis].add_(direct * power[lamp][axis])
        if reflected is not None and metal is not None:
            bright = reaching * _highlights(look, metal, _dot(reflected, to) * inverse)
            for axis in range(3):
                specular[axis].add_(bright * power[lamp][axis])
    return diffuse, specular


def _highlights(look: Look, metal: Tensor, cosine: Tensor) -> Tensor:
    wide = cosine.clamp(min=0)
    for _ in range(3):
        wide = wide * wide
    narrow = wide
    for _ in range(3):
        narrow = narrow * narrow
    return torch.where(
        metal,
        look.constants.metal_sheen * wide + look.constants.metal_specular * narrow,
        look.constants.rubber_specular * wide,
    )


def _lamp_visibility(
    geometry: Any,
    look: Look,
    rows: Tensor,
    item: Tensor,
    lamp: int,
    point: Vector,
    to: Vector,
    square: Tensor,
    targets: Any,
) -> Tensor:
    """The visible share of a lamp's disc: of its targets, or of its centre if there are none."""
    aims = 1 if targets is None else len(targets)
    hidden = torch.zeros(aims, len(rows), dtype=torch.bool)
    for other in range(geometry.shape.shape[1]):
        offset = _vector(point[axis] - geometry.centre[rows, other, axis] for axis in range(3))
        along = -_dot(offset, to) / square
        apart = _dot(offset, offset)
        bounding_radius = geometry.bounding_radius[rows, other]
        reach = 1.02 * (bounding_radius + look.radii[lamp] * along.clamp(min=0))
        outside = (apart - along * along * square > reach * reach) | (
            (along <= 0) & (apart > bounding_radius * bounding_radius)
        )
        for shape, some in _by_shape(geometry, rows, other, (~outside & (item != other)).nonzero()[:, 0]):
            aim = _pick(to, some)
            if targets is not None:
                disc, (u, v) = geometry.disc[rows[some], lamp], targets.unbind(-1)  # [aims, 1] each
                aim = _vector(aim[axis] + u * disc[:, 0, axis] + v * disc[:, 1, axis] for axis in range(3))
            near, far = _span(geometry, shape, rows[some], other, _pick(offset, some), aim)
            hidden[:, some] |= (near < far) & (far > 0) & (near < 1)
    return 1 - hidden.sum(0) / aims


def _sky_visibility(geometry: Any, rows: Tensor, item: Tensor, point: Vector, normal: Vector) -> Tensor:
    """The share of the sky not blocked by other objects, each approximated by a sphere of its volume."""
    share = torch.ones_like(point[0])
    for other in range(geometry.shape.shape[1]):
        away = _vector(geometry.centre[rows, other, axis] - point[axis] for axis in range(3))
        square = _dot(away, away)
        facing = _dot(normal, away).clamp(min=0) * (item != other)
        volume_radius = geometry.volume_radius[rows, other]
        share = share * (1 - (volume_radius * volume_radius / square).clamp(max=1) * facing / square.sqrt())
    return share


def _normals(geometry: Any, look: Look, rows: Tensor, item: Tensor, point: Vector) -> Vector:
    """Surface normals, blended between faces near edges above the ground, as if edges were round."""
    extent, shape = geometry.extent[rows, item], geometry.shape[rows, item]
    x, y, z = (((point[axis] - geometry.centre[rows, item, axis]) / extent) for axis in range(3))
    cosine, sine = geometry.cosine[rows, item], geometry.sine[rows, item]
    u, v, w = (_bevelled(axis, look) for axis in rotated((x, y, z), cosine, sine))
    radius = (x * x + y * y).sqrt() + 1e-12
    outwards = _bevelled(radius, look) / radius
    cube, cylinder = shape == CUBE, shape == CYLINDER
    x = torch.where(cube, cosine * u - sine * v, torch.where(cylinder, x * outwards, x))
    y = torch.where(cube, sine * u + cosine * v, torch.where(cylinder, y * outwards, y))
    z = torch.where(shape == SPHERE, z, w.clamp(min=0))
    length = (x * x + y * y + z * z).sqrt()
    return x / length, y / length, z / length


def _bevelled(value: Tensor, look: Look) -> Tensor:
    return (value.abs() - (1 - look.constants.bevel)).clamp(min=0) * value.sign()


def _span(geometry: Any, shape: int, rows: Tensor, other: int, offset: Vector, ray: Vector) -> tuple[Tensor, Tensor]:
    turn = geometry.cosine[rows, other], geometry.sine[rows, other]
    near, far = span(torch, shape, offset, ray, geometry.extent[rows, other], *turn)
    return near, far


def _by_shape(geometry: Any, rows: Tensor, other: int, some: Tensor) -> list[tuple[int, Tensor]]:
    """The rays for which object ``other`` is a cube, a sphere, a cylinder."""
    shapes = geometry.shape[rows[some], other]
    return [(shape, some[shapes == shape]) for shape in (CUBE, SPHERE, CYLINDER)]


def _pick(vector: Vector, some: Tensor) -> Vector:
    return vector[0][some], vector[1][some], vector[2][some]


def _dot(one: Vector, other: Vector) -> Tensor:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _vector(axes: Any) -> Vector:
    x, y, z = axes
    return x, y, z
