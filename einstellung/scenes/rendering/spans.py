"""Where rays enter and leave an object: the part of a ray between two distances, empty where the ray misses.

A ray is an offset (its start, seen from the object's centre) and a direction, three arrays each. The same formulas serve numpy
and torch, given as ``xp``; the compiled ones are in :mod:`einstellung.scenes.rendering.numba_caster`.
"""

from __future__ import annotations

from typing import Any

from einstellung.scenes.rendering.geometry import CUBE, SPHERE

Vector = tuple[Any, Any, Any]
Span = tuple[Any, Any]


def span(xp: Any, shape: int, offset: Vector, direction: Vector, extent: Any, cosine: Any, sine: Any) -> Span:
    """The two distances, in lengths of the direction; the ray hits where the first is the smaller.

    >>> import numpy as np
    >>> ahead = (np.zeros(1), np.ones(1), np.zeros(1))
    >>> [float(end[0]) for end in span(np, SPHERE, (0.0, -3.0, 0.0), ahead, 1.0, 1.0, 0.0)]
    [2.0, 4.0]
    """
    if shape == SPHERE:
        return _sphere(xp, offset, direction, extent)
    if shape == CUBE:
        return _cube(xp, turned(offset, cosine, sine), turned(direction, cosine, sine), extent)
    return _cylinder(xp, offset, direction, extent)


def turned(vector: Vector, cosine: Any, sine: Any) -> Vector:
    """As seen by an object that is rotated about the vertical."""
    x, y, z = vector
    return cosine * x + sine * y, cosine * y - sine * x, z


def _sphere(xp: Any, offset: Vector, direction: Vector, extent: Any) -> Span:
    (ox, oy, oz), (dx, dy, dz) = offset, direction
    a = dx * dx + dy * dy + dz * dz
    b = ox * dx + oy * dy + oz * dz
    c = ox * ox + oy * oy + oz * oz - extent * extent
    root = xp.sqrt((b * b - a * c).clip(0))
    return (-b - root) / a, (-b + root) / a


def _cube(xp: Any, offset: Vector, direction: Vector, extent: Any) -> Span:
    (ox, oy, oz), (dx, dy, dz) = offset, direction
    x, y, z = _slab(xp, ox, dx, extent), _slab(xp, oy, dy, extent), _slab(xp, oz, dz, extent)
    return xp.maximum(xp.maximum(x[0], y[0]), z[0]), xp.minimum(xp.minimum(x[1], y[1]), z[1])


def _cylinder(xp: Any, offset: Vector, direction: Vector, extent: Any) -> Span:
    (ox, oy, oz), (dx, dy, dz) = offset, direction
    a = dx * dx + dy * dy
    b = ox * dx + oy * dy
    c = ox * ox + oy * oy - extent * extent
    root = xp.sqrt((b * b - a * c).clip(0))
    low, high = _slab(xp, oz, dz, extent)
    return xp.maximum((-b - root) / a, low), xp.minimum((-b + root) / a, high)


def _slab(xp: Any, offset: Any, direction: Any, extent: Any) -> Span:
    one, other = (-extent - offset) / direction, (extent - offset) / direction
    return xp.minimum(one, other), xp.maximum(one, other)
