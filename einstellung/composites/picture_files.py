"""Picture files as arrays, upright: cut-outs with their alpha, backgrounds without any."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from einstellung.composites.sources import Pixels
from einstellung.errors import InputError

FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")  # plain decoders: nothing here starts another program
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # more than 8 bits a channel: their scale is anybody's guess


def read_cut_out(file: Path) -> Pixels:
    """[H, W, 4]; a picture without an alpha channel does not tell what belongs to it."""
    return _read(file, "RGBA")


def read_background(file: Path) -> Pixels:
    """[H, W, 3]; what lies under transparent pixels is shown."""
    return _read(file, "RGB")


def _read(file: Path, mode: str) -> Pixels:
    try:
        with Image.open(file, formats=FORMATS) as picture:
            if picture.mode in _DEEP:
                raise InputError(f"{file} has more than 8 bits a channel: save it with 8")
            upright = ImageOps.exif_transpose(picture)
            if mode == "RGBA" and not upright.has_transparency_data:
                raise InputError(
                    f"{file} has no alpha channel to tell what is cut out: save it as PNG or WebP with one"
                )
            return np.array(upright.convert(mode))
    except UnidentifiedImageError:
        raise InputError(f"{file} is no picture that can be read ({', '.join(FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} cannot be read as a picture: {error}") from None
