"""Drawn cut-outs, [H, W, 4]: creatures with a smooth or a jagged outline, signs on a post, plants."""

from __future__ import annotations

import colorsys

import numpy as np
import numpy.typing as npt

from einstellung.composites.sources import Pixels

_CREATURE, _THING = 96, 48  # pixels a side

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def creature(chance: np.random.Generator, jagged: bool) -> Pixels:
    """A body of two colours with a marking and two eyes, turned and stretched at random.

    Its outline is r(t) = 1 + a w(k t): w a cosine with few and low waves, or a zigzag with many and high teeth.
    """
    x, y = _turned(_grid(_CREATURE), chance.uniform(-np.pi, np.pi))
    stretch = chance.uniform(0.75, 1.0)
    radius, angle = np.hypot(x, y / stretch), np.arctan2(y / stretch, x)
    bumps = chance.integers(7, 13) if jagged else chance.integers(3, 7)
    height, phase = chance.uniform(0.05, 0.15) + 0.1 * jagged, chance.uniform(0, 2 * np.pi)
    turn = bumps * angle + phase
    wave = 2 * np.abs(np.mod(turn / np.pi, 2) - 1) - 1 if jagged else np.cos(turn)
    inside = radius < 0.78 * (1 + height * wave)
    body, marking = _colour(chance, (0.3, 0.9)), _colour(chance, (0.3, 0.9))
    canvas = np.where(_marking(chance, x, y)[..., None], marking, body)
    canvas *= (1.0 - 0.35 * np.clip(radius, 0, 1))[..., None]
    for side in (-1, 1):
        apart = np.hypot(x - 0.28, y - side * 0.2)
        canvas = np.where((apart < 0.13)[..., None], 1.0, canvas)
        canvas = np.where((apart < 0.06)[..., None], 0.0, canvas)
    return _cut(canvas, inside)


def sign(chance: np.random.Generator) -> Pixels:
    """A plate on a post: a disc, a square or a triangle with a rim."""
    x, y = _grid(_THING)
    post = (np.abs(x) < chance.uniform(0.05, 0.1)) & (y > -0.2)
    centre, size = chance.uniform(-0.45, -0.35), chance.uniform(0.4, 0.55)
    down = y - centre
    distance = (
        np.hypot(x, down),
        np.maximum(np.abs(x), np.abs(down)),
        np.maximum(down, 0.87 * np.abs(x) - 0.5 * down),
    )[chance.integers(3)]
    plate, rim = _colour(chance, (0.7, 1.0), (0.0, 0.16)), np.full(3, chance.uniform(0.85, 1.0))
    grey = np.full(3, chance.uniform(0.25, 0.5))
    canvas = np.where((distance < size)[..., None], np.where((distance < 0.75 * size)[..., None], plate, rim), grey)
    return _cut(canvas, post | (distance < size))


def plant(chance: np.random.Generator) -> Pixels:
    """A rose of leaves, r = |cos(k t / 2)|, on a curved stem."""
    x, y = _grid(_THING)
    centre = chance.uniform(-0.4, -0.25)
    leaves, phase = chance.integers(5, 9), chance.uniform(0, 2 * np.pi)
    radius, angle = np.hypot(x, y - centre), np.arctan2(y - centre, x)
    crown = radius < chance.uniform(0.5, 0.6) * (0.35 + 0.65 * np.abs(np.cos(leaves * angle / 2 + phase)))
    bend = chance.uniform(-0.2, 0.2)
    stem = (np.abs(x - bend * np.sin(np.pi * (y - centre))) < chance.uniform(0.05, 0.1)) & (y > centre)
    leaf, heart = _colour(chance, (0.5, 0.9), (0.22, 0.42)), _colour(chance, (0.6, 0.95))
    canvas = np.where(crown[..., None], leaf * (1 - 0.5 * radius[..., None]), leaf * 0.5)
    canvas = np.where((radius < 0.16)[..., None], heart, canvas)
    return _cut(canvas, crown | stem)


def _marking(chance: np.random.Generator, x: Floats, y: Floats) -> Mask:
    period, shift = chance.uniform(6, 14), chance.uniform(0, 2 * np.pi, 2)
    stripes, rows = np.sin(period * x + shift[0]), np.sin(period * y + shift[1])
    halves = x * np.cos(shift[0]) + y * np.sin(shift[0]) - chance.uniform(-0.3, 0.3)
    choices = (stripes > 0.3, stripes * rows > 0.35, halves > 0)
    return np.asarray(choices[chance.integers(3)], dtype=np.bool_)


def _colour(chance: np.random.Generator, light: tuple[float, float], hue: tuple[float, float] = (0.0, 1.0)) -> Floats:
    return np.array(colorsys.hsv_to_rgb(chance.uniform(*hue), chance.uniform(0.35, 0.9), chance.uniform(*light)))


def _grid(side: int) -> tuple[Floats, Floats]:
    ticks = (np.arange(side) + 0.5) / side * 2 - 1
    x, y = np.meshgrid(ticks, ticks)
    return x, y


def _turned(point: tuple[Floats, Floats], tilt: float) -> tuple[Floats, Floats]:
    x, y = point
    return x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)


def _cut(canvas: Floats, inside: Mask) -> Pixels:
    opaque = np.where(inside, 1.0, 0.0)[..., None]
    return (np.concatenate([np.clip(canvas, 0, 1), opaque], axis=2) * 255).round().astype(np.uint8)
