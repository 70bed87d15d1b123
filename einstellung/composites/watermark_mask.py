"""ImageNet-W's watermark: the text 捷径捷径捷径 in thin white letters, half transparent, across the middle of an image.

.. math:: out = x (1 - a) + a, \\qquad a = o \\cdot mask

with o = 128/255 and white = 1 (Li et al. 2023, 'A Whac-A-Mole Dilemma', section 2.2 and its ImageNet-W). The letters are
36 pixels high at 224 (62 at 384, 82 at 512, else size / 6.22 rounded down), their top-left corner is at (.01 of the width, .4 of
the height), and they are applied after resizing and cropping, before normalisation.

The masks were rendered with Debian's fonts-noto-cjk-extra (NotoSerifCJK-ExtraLight, simplified Chinese), where they equal the
published ones pixel for pixel, and are shipped for the sizes in :data:`SHIPPED`, so no font is needed. Any other size is scaled
by area-weighted bilinear averaging from the next larger shipped mask (from 512 if it is larger), which keeps their position
and height.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from einstellung.errors import InputError

OPACITY = 128 / 255
LEFT, TOP = 0.01, 0.4
SHIPPED = (224, 240, 260, 384, 512)
# The watermark, and control texts in the same font: six other characters, and a Latin word.
TEXTS = {"watermark": "捷径捷径捷径", "characters": "天地玄黄宇宙", "latin": "watermark"}
_LETTERS = {224: 36, 384: 62, 512: 82, 518: 84}
_LATIN = 41 / 36  # makes the Latin word as wide and as high as the six characters
_SIMPLIFIED = 2  # index of simplified Chinese in the font collection

Mask = npt.NDArray[np.float32]
Images = npt.NDArray[Any]


def letter_height(size: int) -> int:
    """The font size in pixels for an image of ``size`` x ``size``.

    >>> letter_height(224), letter_height(384), letter_height(64)
    (36, 62, 10)
    """
    return _LETTERS.get(size, int(size / 6.22))


def watermark_mask(size: int, text: str = "watermark") -> Mask:
    """The coverage of each pixel of a ``size`` x ``size`` image by the letters, in [0, 1]; ``text`` is a key of TEXTS.

    >>> mask = watermark_mask(224)
    >>> mask.shape, round(float(mask.sum()), 1)
    ((224, 224), 1523.1)
    """
    if text not in TEXTS:
        raise InputError(f"unknown watermark text '{text}': give one of {', '.join(TEXTS)}")
    if letter_height(size) < 1:
        raise InputError(f"images of {size} pixels are too small for a watermark: give at least 7")
    return _mask(size, text).copy()


@lru_cache(maxsize=32)
def _mask(size: int, text: str) -> Mask:
    source = next((shipped for shipped in SHIPPED if shipped >= size), SHIPPED[-1])
    with as_file(files(__package__) / "masks" / f"{text}-{source}.png") as file, Image.open(file) as picture:
        mask = _shares(picture)
    return mask if source == size else _scaled(mask, size)


def _shares(picture: Image.Image) -> Mask:
    return (np.asarray(picture) / 255).astype(np.float32)


def _scaled(mask: Mask, size: int) -> Mask:
    """Scale the letters of ``mask`` to the height and position of another size."""
    source = mask.shape[0]
    ratio = letter_height(size) / letter_height(source)
    room = source // 2  # Pillow refuses boxes outside of the image
    padded = np.pad(mask, room)
    left, top = (part * (source - size / ratio) + room for part in (LEFT, TOP))
    box = (left, top, left + size / ratio, top + size / ratio)
    picture = Image.fromarray(padded).resize((size, size), Image.Resampling.BILINEAR, box=box)
    return np.clip(np.asarray(picture, dtype=np.float32), 0, 1)


def rendered_mask(size: int, font: Path, text: str = "watermark") -> Mask:
    """Render the mask with ``font`` for any size; NotoSerifCJK-ExtraLight.ttc gives the shipped ones."""
    height = letter_height(size) * (_LATIN if text == "latin" else 1)
    try:
        letters = ImageFont.truetype(str(font), round(height), index=_SIMPLIFIED if font.suffix == ".ttc" else 0)
    except OSError as error:
        raise InputError(f"{font} is not a readable font ({error}): give a .ttc, .otf or .ttf file") from None
    canvas = Image.new("L", (size, size))
    ImageDraw.Draw(canvas).text((LEFT * size, TOP * size), TEXTS[text], fill=255, font=letters)
    return _shares(canvas)


def watermarked(images: Images, opacity: float = OPACITY, mask: Mask | None = None) -> Images:
    """Apply the watermark to images: uint8 in 0..255 or floats in 0..1, height and width on the last two axes.

    >>> black = np.zeros((3, 224, 224), dtype=np.uint8)
    >>> int(watermarked(black).max())
    128
    """
    height, width = images.shape[-2:]
    if mask is None:
        if height != width:
            raise InputError(f"images are {height} x {width} pixels: the watermark needs square ones, crop them")
        mask = watermark_mask(height)
    alpha = np.float32(opacity) * mask
    if images.dtype == np.uint8:
        return np.asarray(np.rint(images * (1 - alpha) + 255 * alpha), dtype=np.uint8)
    return np.asarray(images * (1 - alpha) + alpha, dtype=images.dtype)
