"""The geometry of composites, as in UrbanCars (Li et al., 2023), for a canvas of any size.

The target is cropped to its mask, scaled so that its longer side is half of the canvas, and centred. The co-object's longer side
is a quarter of the canvas, centred at half the height and .875 of the width. Masks are binary: a pixel belongs to a cut-out if
its alpha is at least 128. The co-object is pasted on the background, the target on both.
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
    """A rectangle of the canvas, in pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def area(self) -> tuple[slice, slice]:
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


@dataclass(frozen=True)
class Placement:
    """The longer side of a cut-out and its centre, as shares of the canvas."""

    scale: float
    row: float
    col: float

    def window(self, size: int) -> Window:
        """Its square on a canvas of ``size`` pixels.

        >>> TARGET_PLACEMENT.window(64), OBJECT_PLACEMENT.window(64)
        (Window(top=16, left=16, height=32, width=32), Window(top=24, left=48, height=16, width=16))
        """
        side = round(self.scale * size)
        top, left = (min(round(centre * size - side / 2), size - side) for centre in (self.row, self.col))
        return Window(top, left, side, side)


TARGET_PLACEMENT = Placement(0.5, 0.5, 0.5)
OBJECT_PLACEMENT = Placement(0.25, 0.5, 0.875)
SMALLEST = 16  # side of the canvas in pixels: a co-object has four of them


def check_size(size: int) -> None:
    if not SMALLEST <= size <= 1024:
        raise InputError(f"size is {size}: give {SMALLEST} to 1024 pixels")


def cut_out(picture: Pixels, side: int, name: str) -> Pixels:
    """Fit a cut-out [H, W, 4] into a square [4, side, side]: alpha 0 or 255, and black where transparent."""
    inside = picture[:, :, 3] >= OPAQUE
    rows, cols = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        raise InputError(f"{name}: it has no opaque pixel, so there is nothing to cut out")
    cropped = picture[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    scale = side / max(cropped.shape[:2])
    height, width = (max(1, round(scale * length)) for length in cropped.shape[:2])
    # Pillow premultiplies alpha and averages over all source pixels when downscaling.
    scaled = np.asarray(Image.fromarray(cropped).resize((width, height), Image.Resampling.BILINEAR))
    shown = scaled[:, :, 3] >= OPAQUE
    if not shown.any():
        raise InputError(f"{name}: it is too thin to be visible at {side} pixels; give a larger size")
    square = np.zeros((4, side, side), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    part = square[:, top : top + height, left : left + width]
    part[:3] = np.where(shown, scaled[:, :, :3].transpose(2, 0, 1), 0)
    part[3] = np.where(shown, 255, 0)
    return square


def backdrop(picture: Pixels, size: int) -> Pixels:
    """Fit a background [H, W, 3] to the canvas [3, size, size]: centre crop, scaled to the shorter side."""
    fitted = ImageOps.fit(Image.fromarray(picture), (size, size), Image.Resampling.BILINEAR)
    return np.asarray(fitted).transpose(2, 0, 1)
