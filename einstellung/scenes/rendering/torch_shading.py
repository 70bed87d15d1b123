"""Light on its way from lamps over objects and ground, for many rays at once; the compiled twin is in ``numba_caster``.

``rows`` says to which scene each ray or point belongs; a vector is three tensors, one number each for every ray; ``targets``
[aims, 1, 2] are the points on the lamps' discs that shadows are made of.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from einstellung.scenes.rendering.geometry import CUBE, CYLINDER, SPHERE, Stage
from einstellung.scenes.rendering.look import Look
from einstellung.scenes.rendering.spans import span, turned

Vector = tuple[Tensor, Tensor, Tensor]


def of_objects(
    stage: Stage, look: Look, rows: Tensor, item: Tensor, distance: Tensor, ray: Vector, targets: Tensor
) -> Vector:
    """The light of the objects that rays from the eye meet."""
    on: Any = stage  # of tensors
    point = _vector(on.eye[rows, axis] + distance * ray[axis] for axis in range(3))
    normal = _normals(on, look, rows, item, point)
    length = _dot(ray, ray).sqrt()
    ray = _vector(axis / length for axis in ray)
    facing = _dot(normal, ray)
    bent = _vector(along - 2 * facing * axis for along, axis in zip(ray, normal, strict=True))
    metal = on.metal[rows, item]
    matt, shine = _lit(on, look, rows, item, point, normal, bent, metal, targets)
    low = (point[2] / on.extent[rows, item]).clamp(max=1)
    beneath = look.numbers.bounce * (0.5 - 0.5 * normal[2]) * (0.3 + 0.7 * low)
    sky = _openness(on, rows, item, point, normal) * (look.numbers.sky * (0.5 + 0.5 * normal[2]) + beneath)
    colour = _vector(on.colour[rows, item, axis] for axis in range(3))
    light = [share * (reaching + sky) for share, reaching in zip(colour, matt, strict=True)]
    glance = 1 - (-facing).clamp(0, 1)
    glance = 0.6 * (glance * glance) * (glance * glance) * glance
    shiny = metal.nonzero()[:, 0]
    mirrored = _mirrored(
        on, look, rows[shiny], item[shiny], _vector(a[shiny] for a in point), _vector(a[shiny] for a in bent)
    )
    for axis in range(3):
        whole = light[axis] + shine[axis]
        tint = (1.35 * colour[axis]).clamp(max=1)
        share = (tint * (1 - glance) + glance)[shiny]
        sent = share * mirrored[axis] + (0.5 + 0.5 * share) * shine[axis][shiny]
        whole[shiny] = look.numbers.metal_matt * light[axis][shiny] + sent
        light[axis] = whole
    return _vector(light)


def beyond(stage: Stage, look: Look, rows: Tensor, start: Vector, ray: Vector, targets: Tensor | None) -> Vector:
    """The light of ground or sky, where rays meet nothing else; without targets on the lamps, shadows have sharp edges."""
    on: Any = stage
    rising = ray[2] / _dot(ray, ray).sqrt()
    light = look.numbers.backdrop + (look.numbers.zenith - look.numbers.backdrop) * (1.5 * rising).clamp(0, 1)
    found = _vector(light.clone() for _ in range(3))
    t = -start[2] / ray[2]
    x, y = start[0] + t * ray[0], start[1] + t * ray[1]
    away = ((x * x + y * y).sqrt() - look.numbers.fade_from) / (look.numbers.fade_to - look.numbers.fade_from)
    near = ((ray[2] < 0) & (away < 1)).nonzero()[:, 0]
    rows, x, y, away = rows[near], x[near], y[near], away[near].clamp(min=0)
    level = torch.zeros_like(x)
    ground, upwards = (x, y, level), (level, level, torch.ones_like(x))
    nothing = torch.full_like(rows, -1)
    matt, _ = _lit(on, look, rows, nothing, ground, upwards, None, None, targets)
    sky = look.numbers.sky * _openness(on, rows, nothing, ground, upwards)
    away = away * away * (3 - 2 * away)
    here, far = look.numbers.ground * (1 - away), look.numbers.backdrop * away
    for axis in range(3):
        found[axis][near] = here * (matt[axis] + sky) + far
    return found


def _mirrored(on: Any, look: Look, rows: Tensor, item: Tensor, point: Vector, ray: Vector) -> Vector:
    """The light that reaches objects from a direction."""
    nearest = torch.full_like(point[0], torch.inf)
    found = torch.full_like(rows, -1)
    for other in range(on.shape.shape[1]):
        offset = _vector(point[axis] - on.centre[rows, other, axis] for axis in range(3))
        for shape, some in _by_shape(on, rows, other, (item != other).nonzero()[:, 0]):
            near, far = _span(on, shape, rows[some], other, _pick(offset, some), _pick(ray, some))
            hit = (near < far) & (near > 0) & (near < nearest[some])
            nearest[some[hit]], found[some[hit]] = near[hit], other
    light = beyond(on, look, rows, point, ray, None)
    hit = (found >= 0).nonzero()[:, 0]
    rows, item, t = rows[hit], found[hit], nearest[hit]
    place = _vector(point[axis][hit] + t * ray[axis][hit] for axis in range(3))
    normal = _normals(on, look, rows, item, place)
    matt, _ = _lit(on, look, rows, item, place, normal, None, None, None)
    sky = look.numbers.sky * (0.5 + 0.5 * normal[2]) + look.numbers.bounce * (0.5 - 0.5 * normal[2])
    for axis in range(3):
        light[axis][hit] = on.colour[rows, item, axis] * (matt[axis] + sky)
    return light


def _lit(
    on: Any,
    look: Look,
    rows: Tensor,
    item: Tensor,
    point: Vector,
    normal: Vector,
    bent: Vector | None,
    metal: Tensor | None,
    targets: Tensor | None,
) -> tuple[Vector, Vector]:
    """What the lamps send to points of objects (-1: of the ground), and what of it is sent on as a highlight."""
    power = look.power.tolist()
    matt, shine = (_vector(torch.zeros_like(point[0]) for _ in range(3)) for _ in range(2))
    for lamp in range(on.lamp.shape[1]):
        to = _vector(on.lamp[rows, lamp, axis] - point[axis] for axis in range(3))
        square = _dot(to, to)
        inverse = 1 / square.sqrt()
        cosine = _dot(normal, to)
        axis_of_lamp = _vector(on.axis[rows, lamp, axis] for axis in range(3))
        aslant = (_dot(to, axis_of_lamp) * inverse).clamp(min=0) * (cosine > 0)
        falling_off = square + look.numbers.evenness * (on.distance[rows, lamp] - square)
        reaching = _unhidden(on, look, rows, item, lamp, point, to, square, targets) * aslant / falling_off
        direct = reaching * cosine * inverse
        for axis in range(3):
            matt[axis].add_(direct * power[lamp][axis])
        if bent is not None and metal is not None:
            bright = reaching * _highlights(look, metal, _dot(bent, to) * inverse)
            for axis in range(3):
                shine[axis].add_(bright * power[lamp][axis])
    return matt, shine


def _highlights(look: Look, metal: Tensor, cosine: Tensor) -> Tensor:
    wide = cosine.clamp(min=0)
    for _ in range(3):
        wide = wide * wide
    narrow = wide
    for _ in range(3):
        narrow = narrow * narrow
    return torch.where(
        metal, look.numbers.metal_glow * wide + look.numbers.metal_shine * narrow, look.numbers.matt_shine * wide
    )


def _unhidden(
    on: Any, look: Look, rows: Tensor, item: Tensor, lamp: int, point: Vector, to: Vector, square: Tensor, targets: Any
) -> Tensor:
    """The share of a lamp's disc that is seen from the points: of the targets on it, or (none given) of its middle alone."""
    aims = 1 if targets is None else len(targets)
    hidden = torch.zeros(aims, len(rows), dtype=torch.bool)
    for other in range(on.shape.shape[1]):
        offset = _vector(point[axis] - on.centre[rows, other, axis] for axis in range(3))
        along = -_dot(offset, to) / square
        apart = _dot(offset, offset)
        bound = on.bound[rows, other]
        reach = 1.02 * (bound + look.radii[lamp] * along.clamp(min=0))
        outside = (apart - along * along * square > reach * reach) | ((along <= 0) & (apart > bound * bound))
        for shape, some in _by_shape(on, rows, other, (~outside & (item != other)).nonzero()[:, 0]):
            aim = _pick(to, some)
            if targets is not None:
                disc, (u, v) = on.disc[rows[some], lamp], targets.unbind(-1)  # [aims, 1] each
                aim = _vector(aim[axis] + u * disc[:, 0, axis] + v * disc[:, 1, axis] for axis in range(3))
            near, far = _span(on, shape, rows[some], other, _pick(offset, some), aim)
            hidden[:, some] |= (near < far) & (far > 0) & (near < 1)
    return 1 - hidden.sum(0) / aims


def _openness(on: Any, rows: Tensor, item: Tensor, point: Vector, normal: Vector) -> Tensor:
    """The share of the sky that the other objects leave, each taken for a sphere of its volume."""
    share = torch.ones_like(point[0])
    for other in range(on.shape.shape[1]):
        away = _vector(on.centre[rows, other, axis] - point[axis] for axis in range(3))
        square = _dot(away, away)
        towards = _dot(normal, away).clamp(min=0) * (item != other)
        bulk = on.bulk[rows, other]
        share = share * (1 - (bulk * bulk / square).clamp(max=1) * towards / square.sqrt())
    return share


def _normals(on: Any, look: Look, rows: Tensor, item: Tensor, point: Vector) -> Vector:
    """Outwards from the surface; near an edge off the ground they turn to the other face, as if the edge were round."""
    extent, shape = on.extent[rows, item], on.shape[rows, item]
    x, y, z = (((point[axis] - on.centre[rows, item, axis]) / extent) for axis in range(3))
    cosine, sine = on.cosine[rows, item], on.sine[rows, item]
    u, v, w = (_rim(axis, look) for axis in turned((x, y, z), cosine, sine))
    radius = (x * x + y * y).sqrt() + 1e-12
    outwards = _rim(radius, look) / radius
    cube, cylinder = shape == CUBE, shape == CYLINDER
    x = torch.where(cube, cosine * u - sine * v, torch.where(cylinder, x * outwards, x))
    y = torch.where(cube, sine * u + cosine * v, torch.where(cylinder, y * outwards, y))
    z = torch.where(shape == SPHERE, z, w.clamp(min=0))
    length = (x * x + y * y + z * z).sqrt()
    return x / length, y / length, z / length


def _rim(value: Tensor, look: Look) -> Tensor:
    return (value.abs() - (1 - look.numbers.bevel)).clamp(min=0) * value.sign()


def _span(on: Any, shape: int, rows: Tensor, other: int, offset: Vector, ray: Vector) -> tuple[Tensor, Tensor]:
    turn = on.cosine[rows, other], on.sine[rows, other]
    near, far = span(torch, shape, offset, ray, on.extent[rows, other], *turn)
    return near, far


def _by_shape(on: Any, rows: Tensor, other: int, some: Tensor) -> list[tuple[int, Tensor]]:
    """Those of the rays for which object ``other`` is a cube, a sphere, a cylinder."""
    shapes = on.shape[rows[some], other]
    return [(shape, some[shapes == shape]) for shape in (CUBE, SPHERE, CYLINDER)]


def _pick(vector: Vector, some: Tensor) -> Vector:
    return vector[0][some], vector[1][some], vector[2][some]


def _dot(one: Vector, other: Vector) -> Tensor:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _vector(axes: Any) -> Vector:
    x, y, z = axes
    return x, y, z
