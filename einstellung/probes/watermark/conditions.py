"""Conditions: the watermark, and the controls it is compared with.

A drop in accuracy alone does not show that a model recognises the watermark: anything across the middle of an image occludes
it. The controls occlude as much in other ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from einstellung.composites.watermark_mask import OPACITY, TOP, Mask, watermark_mask
from einstellung.errors import InputError

WATERMARK = "watermark"
OPACITIES = (0.25, 0.75, 1.0)
PLACES = {"top": 0.05, "bottom": 0.75}
CONTROLS = {
    "shuffled": "the mask's pixels in random order within the text's box (one order for all images)",
    "flat bar": "the text's box filled evenly with the mask's mean",
    "latin": "a Latin word in the same font, of the same width and height",
    "characters": "six other Chinese characters in the same font",
    **{f"opacity {opacity:g}": f"the watermark at opacity {opacity:g}" for opacity in OPACITIES},
    **{f"place {name}": f"the watermark's top at {part:g} of the height" for name, part in PLACES.items()},
}


@dataclass(frozen=True)
class WatermarkCondition:
    """A mask in [0, 1] and its opacity where it is 1."""

    name: str
    description: str
    mask: Mask
    opacity: float = OPACITY


def watermark(size: int) -> WatermarkCondition:
    """The published watermark."""
    return WatermarkCondition(WATERMARK, f"the published watermark at opacity {OPACITY:.3f}", watermark_mask(size))


def control(name: str, size: int, seed: int = 0) -> WatermarkCondition:
    """One of :data:`CONTROLS` for images of ``size`` x ``size``; ``seed`` shuffles its pixels."""
    if name not in CONTROLS:
        raise InputError(f"there is no control '{name}': give some of {', '.join(CONTROLS)}")
    mask, opacity = watermark_mask(size), OPACITY
    kind, _, rest = name.partition(" ")
    if name == "shuffled":
        mask = shuffled(mask, seed)
    elif name == "flat bar":
        mask = flat_bar(mask)
    elif kind == "opacity":
        opacity = float(rest)
    elif kind == "place":
        mask = moved(mask, PLACES[rest])
    else:
        mask = watermark_mask(size, name)
    return WatermarkCondition(name, CONTROLS[name], mask, opacity)


def controls(names: Sequence[str], size: int, seed: int = 0) -> list[WatermarkCondition]:
    """The named controls, each once."""
    return [control(name, size, seed) for name in dict.fromkeys(names)]


def box(mask: Mask) -> tuple[slice, slice]:
    """The bounding box of the text."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def shuffled(mask: Mask, seed: int) -> Mask:
    """The same pixels in the same box, in random order."""
    inside, result = box(mask), mask.copy()
    pixels = mask[inside]
    result[inside] = np.random.default_rng(seed).permutation(pixels.ravel()).reshape(pixels.shape)
    return result


def flat_bar(mask: Mask) -> Mask:
    """The text's box, filled with the mean of the mask in it.

    >>> bar = flat_bar(watermark_mask(224))
    >>> round(float(bar.max()), 4), bool(np.isclose(bar.sum(), watermark_mask(224).sum()))
    (0.2033, True)
    """
    inside, result = box(mask), np.zeros_like(mask)
    result[inside] = mask[inside].mean()
    return result


def moved(mask: Mask, top: float) -> Mask:
    """The text with its top edge at ``top`` of the height instead of :data:`TOP`; it must stay inside the image."""
    rows, columns = box(mask)
    shift = round((top - TOP) * mask.shape[0])
    result = np.zeros_like(mask)
    result[rows.start + shift : rows.stop + shift, columns] = mask[rows, columns]
    return result
