"""Where things stand in a composite: the recipe of UrbanCars (Li et al., 2023), for a canvas of any size.

The target is cropped to its mask, its longer side made half of the canvas, and centred; the co-object's longer side is a quarter
of it, centred at half the height and .875 of the width. Masks are hard: a pixel belongs to a cut-out where its alpha is at
least 128. The background comes first, the co-object on it, the target on both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from einstellung.composites.sources import Pixels
from einstellung.errors import InputError

OPAQUE = 128


@dataclass(frozen=True)
class Window:
    """A part of the canvas, in pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def area(self) -> tuple[slice, slice]:
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


@dataclass(frozen=True)
class Place:
    """The longer side of what stands there, and its centre, as shares of the canvas."""

    scale: float
    row: float
    col: float

    def window(self, size: int) -> Window:
        """The square that holds it on a canvas of ``size`` pixels.

        >>> TARGET_PLACE.window(64), OBJECT_PLACE.window(64)
        (Window(top=16, left=16, height=32, width=32), Window(top=24, left=48, height=16, width=16))
        """
        side = round(self.scale * size)
        top, left = (min(round(centre * size - side / 2), size - side) for centre in (self.row, self.col))
        return Window(top, left, side, side)


TARGET_PLACE = Place(0.5, 0.5, 0.5)
OBJECT_PLACE = Place(0.25, 0.5, 0.875)
SMALLEST = 16  # pixels a side of the canvas: a co-object has four of them


def check_size(size: int) -> None:
    if not SMALLEST <= size <= 1024:
        raise InputError(f"size is {size}: give {SMALLEST} to 1024 pixels")


def cut_out(picture: Pixels, side: int, name: str) -> Pixels:
    """A cut-out [H, W, 4] in the middle of a square [4, side, side]: alpha 0 or 255, and black where it is not."""
    inside = picture[:, :, 3] >= OPAQUE
    rows, cols = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        raise InputError(f"{name}: nothing in it is opaque, so nothing is cut out")
    cropped = picture[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    scale = side / max(cropped.shape[:2])
    height, width = (max(1, round(scale * length)) for length in cropped.shape[:2])
    # Pillow weighs colours with their alpha, and averages over all pixels that a smaller one stands for.
    scaled = np.asarray(Image.fromarray(cropped).resize((width, height), Image.Resampling.BILINEAR))
    shown = scaled[:, :, 3] >= OPAQUE
    if not shown.any():
        raise InputError(f"{name}: it is so thin that nothing is left of it on {side} pixels; take a larger size")
    square = np.zeros((4, side, side), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    part = square[:, top : top + height, left : left + width]
    part[:3] = np.where(shown, scaled[:, :, :3].transpose(2, 0, 1), 0)
    part[3] = np.where(shown, 255, 0)
    return square


def backdrop(picture: Pixels, size: int) -> Pixels:
    """A background [H, W, 3] as the whole canvas [3, size, size]: its middle, scaled to the shorter side."""
    fitted = ImageOps.fit(Image.fromarray(picture), (size, size), Image.Resampling.BILINEAR)
    return np.asarray(fitted).transpose(2, 0, 1)
