"""Drawn backgrounds, [H, W, 3]: blocks with lit windows, or clouds over land."""

from __future__ import annotations

import colorsys

import numpy as np
import numpy.typing as npt

from einstellung.composites.sources import Pixels

_SIDE = 96  # pixels

Floats = npt.NDArray[np.float64]


def blocks(chance: np.random.Generator) -> Pixels:
    """Upright blocks in front of each other, nearer ones lower and darker, with rows of windows."""
    canvas = np.empty((_SIDE, _SIDE, 3))
    canvas[:] = _colour(chance, (0.5, 0.95), (0.5, 0.75), (0.0, 0.3))
    rows, cols = np.mgrid[:_SIDE, :_SIDE]
    for number in range(chance.integers(6, 11)):
        left, width = chance.integers(-10, _SIDE - 10), chance.integers(14, 34)
        top = chance.integers(0, _SIDE // 2) + 3 * number
        wall = _colour(chance, (0.25, 0.8), (0.0, 1.0), (0.0, 0.3))
        inside = (cols >= left) & (cols < left + width) & (rows >= top)
        canvas[inside] = wall
        step, pane = chance.integers(5, 9), chance.integers(2, 4)
        windows = inside & ((rows - top) % step >= step - pane) & ((cols - left) % step >= step - pane)
        canvas[windows] = wall * 0.4 if chance.random() < 0.5 else np.minimum(wall * 1.6, 1.0)
    return _bytes(canvas, chance)


def clouds(chance: np.random.Generator) -> Pixels:
    """Smooth noise of several sizes between two colours of earth, leaves and sky."""
    mix = sum((_noise(chance, cells) / cells for cells in (3, 6, 12, 24)), np.zeros((_SIDE, _SIDE)))
    mix = (mix - mix.min()) / (mix.max() - mix.min())
    near, far = (_colour(chance, (0.25, 0.9), (0.08, 0.5), (0.15, 0.7)) for _ in range(2))
    return _bytes(near + mix[..., None] * (far - near), chance)


def _noise(chance: np.random.Generator, cells: int) -> Floats:
    """Random values on a coarse grid, joined smoothly."""
    knots = chance.normal(size=(cells + 1, cells + 1))
    at = (np.arange(_SIDE) + 0.5) / _SIDE * cells
    low = at.astype(np.int64)
    part = at - low
    part = part * part * (3 - 2 * part)
    across = knots[:, low] * (1 - part) + knots[:, low + 1] * part
    return np.asarray(across[low] * (1 - part)[:, None] + across[low + 1] * part[:, None])


def _colour(
    chance: np.random.Generator, light: tuple[float, float], hue: tuple[float, float], strength: tuple[float, float]
) -> Floats:
    return np.array(colorsys.hsv_to_rgb(chance.uniform(*hue), chance.uniform(*strength), chance.uniform(*light)))


def _bytes(canvas: Floats, chance: np.random.Generator) -> Pixels:
    grain = chance.normal(scale=0.02, size=canvas.shape)
    return (np.clip(canvas + grain, 0, 1) * 255).round().astype(np.uint8)
