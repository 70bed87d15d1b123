"""Ray-object intersections as spans: the distances at which rays enter and leave an object.

A ray is an offset (its origin relative to the object's centre) and a direction, three arrays each. ``xp`` is numpy or torch; the
compiled version is in :mod:`einstellung.scenes.rendering.numba_caster`.
"""

from __future__ import annotations

from typing import Any

from einstellung.scenes.rendering.geometry import CUBE, SPHERE

Vector = tuple[Any, Any, Any]
Span = tuple[Any, Any]


def span(xp: Any, shape: int, offset: Vector, direction: Vector, extent: Any, cosine: Any, sine: Any) -> Span:
    """Entry and exit distance, in lengths of the direction; the ray hits if entry < exit.

    >>> import numpy as np
    >>> forward = (np.zeros(1), np.ones(1), np.zeros(1))
    >>> [float(end[0]) for end in span(np, SPHERE, (0.0, -3.0, 0.0), forward, 1.0, 1.0, 0.0)]
    [2.0, 4.0]
    """
    if shape == SPHERE:
        return _sphere(xp, offset, direction, extent)
    if shape == CUBE:
        return _cube(xp, rotated(offset, cosine, sine), rotated(direction, cosine, sine), extent)
    return _cylinder(xp, offset, direction, extent)


def rotated(vector: Vector, cosine: Any, sine: Any) -> Vector:
    """Rotate into the frame of an object that is rotated about the vertical axis."""
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
