"""Procedural images: cut-outs [H, W, 4] (creatures, signs, plants) and backgrounds [H, W, 3] (blocks, clouds)."""

from __future__ import annotations

import colorsys

import numpy as np
import numpy.typing as npt

from einstellung.composites.sources import Pixels

_CREATURE, _OBJECT, _BACKGROUND = 96, 48, 96  # side in pixels

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def creature(rng: np.random.Generator, jagged: bool) -> Pixels:
    """A two-coloured body with a marking and two eyes, randomly rotated and stretched.

    The outline is r(t) = 1 + a w(k t), where w is a cosine with few low waves or a zigzag with many high teeth.
    """
    x, y = _rotated(_grid(_CREATURE), rng.uniform(-np.pi, np.pi))
    stretch = rng.uniform(0.75, 1.0)
    radius, angle = np.hypot(x, y / stretch), np.arctan2(y / stretch, x)
    bumps = rng.integers(7, 13) if jagged else rng.integers(3, 7)
    height, phase = rng.uniform(0.05, 0.15) + 0.1 * jagged, rng.uniform(0, 2 * np.pi)
    turn = bumps * angle + phase
    wave = 2 * np.abs(np.mod(turn / np.pi, 2) - 1) - 1 if jagged else np.cos(turn)
    inside = radius < 0.78 * (1 + height * wave)
    body, marking = _colour(rng, (0.3, 0.9)), _colour(rng, (0.3, 0.9))
    canvas = np.where(_marking(rng, x, y)[..., None], marking, body)
    canvas *= (1.0 - 0.35 * np.clip(radius, 0, 1))[..., None]
    for side in (-1, 1):
        apart = np.hypot(x - 0.28, y - side * 0.2)
        canvas = np.where((apart < 0.13)[..., None], 1.0, canvas)
        canvas = np.where((apart < 0.06)[..., None], 0.0, canvas)
    return _to_cut_out(canvas, inside)


def sign(rng: np.random.Generator) -> Pixels:
    """A plate on a post: a disc, a square or a triangle with a rim."""
    x, y = _grid(_OBJECT)
    post = (np.abs(x) < rng.uniform(0.05, 0.1)) & (y > -0.2)
    centre, size = rng.uniform(-0.45, -0.35), rng.uniform(0.4, 0.55)
    down = y - centre
    distance = (
        np.hypot(x, down),
        np.maximum(np.abs(x), np.abs(down)),
        np.maximum(down, 0.87 * np.abs(x) - 0.5 * down),
    )[rng.integers(3)]
    plate, rim = _colour(rng, (0.7, 1.0), (0.0, 0.16)), np.full(3, rng.uniform(0.85, 1.0))
    grey = np.full(3, rng.uniform(0.25, 0.5))
    canvas = np.where((distance < size)[..., None], np.where((distance < 0.75 * size)[..., None], plate, rim), grey)
    return _to_cut_out(canvas, post | (distance < size))


def plant(rng: np.random.Generator) -> Pixels:
    """A rosette of leaves, r = |cos(k t / 2)|, on a curved stem."""
    x, y = _grid(_OBJECT)
    centre = rng.uniform(-0.4, -0.25)
    leaves, phase = rng.integers(5, 9), rng.uniform(0, 2 * np.pi)
    radius, angle = np.hypot(x, y - centre), np.arctan2(y - centre, x)
    crown = radius < rng.uniform(0.5, 0.6) * (0.35 + 0.65 * np.abs(np.cos(leaves * angle / 2 + phase)))
    bend = rng.uniform(-0.2, 0.2)
    stem = (np.abs(x - bend * np.sin(np.pi * (y - centre))) < rng.uniform(0.05, 0.1)) & (y > centre)
    leaf, heart = _colour(rng, (0.5, 0.9), (0.22, 0.42)), _colour(rng, (0.6, 0.95))
    canvas = np.where(crown[..., None], leaf * (1 - 0.5 * radius[..., None]), leaf * 0.5)
    canvas = np.where((radius < 0.16)[..., None], heart, canvas)
    return _to_cut_out(canvas, crown | stem)


def blocks(rng: np.random.Generator) -> Pixels:
    """Overlapping buildings with rows of windows, nearer ones lower and darker."""
    canvas = np.empty((_BACKGROUND, _BACKGROUND, 3))
    canvas[:] = _colour(rng, (0.5, 0.95), (0.5, 0.75), (0.0, 0.3))
    rows, cols = np.mgrid[:_BACKGROUND, :_BACKGROUND]
    for number in range(rng.integers(6, 11)):
        left, width = rng.integers(-10, _BACKGROUND - 10), rng.integers(14, 34)
        top = rng.integers(0, _BACKGROUND // 2) + 3 * number
        wall = _colour(rng, (0.25, 0.8), (0.0, 1.0), (0.0, 0.3))
        inside = (cols >= left) & (cols < left + width) & (rows >= top)
        canvas[inside] = wall
        step, pane = rng.integers(5, 9), rng.integers(2, 4)
        windows = inside & ((rows - top) % step >= step - pane) & ((cols - left) % step >= step - pane)
        canvas[windows] = wall * 0.4 if rng.random() < 0.5 else np.minimum(wall * 1.6, 1.0)
    return _to_background(canvas, rng)


def clouds(rng: np.random.Generator) -> Pixels:
    """Smooth noise at several scales between two colours of earth, leaves and sky."""
    mix = sum((_noise(rng, cells) / cells for cells in (3, 6, 12, 24)), np.zeros((_BACKGROUND, _BACKGROUND)))
    mix = (mix - mix.min()) / (mix.max() - mix.min())
    near, far = (_colour(rng, (0.25, 0.9), (0.08, 0.5), (0.15, 0.7)) for _ in range(2))
    return _to_background(near + mix[..., None] * (far - near), rng)


def _marking(rng: np.random.Generator, x: Floats, y: Floats) -> Mask:
    period, shift = rng.uniform(6, 14), rng.uniform(0, 2 * np.pi, 2)
    stripes, rows = np.sin(period * x + shift[0]), np.sin(period * y + shift[1])
    halves = x * np.cos(shift[0]) + y * np.sin(shift[0]) - rng.uniform(-0.3, 0.3)
    choices = (stripes > 0.3, stripes * rows > 0.35, halves > 0)
    return np.asarray(choices[rng.integers(3)], dtype=np.bool_)


def _colour(
    rng: np.random.Generator,
    light: tuple[float, float],
    hue: tuple[float, float] = (0.0, 1.0),
    saturation: tuple[float, float] = (0.35, 0.9),
) -> Floats:
    return np.array(colorsys.hsv_to_rgb(rng.uniform(*hue), rng.uniform(*saturation), rng.uniform(*light)))


def _grid(side: int) -> tuple[Floats, Floats]:
    ticks = (np.arange(side) + 0.5) / side * 2 - 1
    x, y = np.meshgrid(ticks, ticks)
    return x, y


def _rotated(point: tuple[Floats, Floats], tilt: float) -> tuple[Floats, Floats]:
    x, y = point
    return x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)


def _to_cut_out(canvas: Floats, inside: Mask) -> Pixels:
    opaque = np.where(inside, 1.0, 0.0)[..., None]
    return (np.concatenate([np.clip(canvas, 0, 1), opaque], axis=2) * 255).round().astype(np.uint8)


def _noise(rng: np.random.Generator, cells: int) -> Floats:
    """Random values on a coarse grid, smoothly interpolated."""
    knots = rng.normal(size=(cells + 1, cells + 1))
    at = (np.arange(_BACKGROUND) + 0.5) / _BACKGROUND * cells
    low = at.astype(np.int64)
    part = at - low
    part = part * part * (3 - 2 * part)
    across = knots[:, low] * (1 - part) + knots[:, low + 1] * part
    return np.asarray(across[low] * (1 - part)[:, None] + across[low + 1] * part[:, None])


def _to_background(canvas: Floats, rng: np.random.Generator) -> Pixels:
    grain = rng.normal(scale=0.02, size=canvas.shape)
    return (np.clip(canvas + grain, 0, 1) * 255).round().astype(np.uint8)
