"""Image files as arrays: upright, RGB, resized to one size; decoded once, then mapped from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.foreign_files import open_regular
from einstellung.sources.cache import Arrays, cached
from einstellung.sources.reading import file_hash

_LAYOUT = 1  # version of the cached arrays, part of their key
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # decoders that start no other program
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # more than 8 bits per channel: the scale is unknown


@dataclass(frozen=True)
class DecodedPictures:
    """Images (uint8 [N, 3, size, size]), the original height and width of each, and a hash of all files."""

    images: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.int64]
    sha256: str


def read_pictures(files: Sequence[Path], size: int, places: Sequence[str]) -> DecodedPictures:
    """Decode ``files``; ``places`` says where each is listed, for error messages.

    The EXIF orientation is applied first. Every picture is resized to a square by area averaging: no pixel of the result
    depends on anything outside its own area, so that a box stays a box.
    """
    content = digest([file_hash(file, "sha256") for file in files], length=64)
    key = digest([_LAYOUT, size, content], length=32)
    arrays = cached(f"pictures-{key}", lambda: _decoded(files, size, places))
    return DecodedPictures(arrays["images"], arrays["sizes"], content)


def _decoded(files: Sequence[Path], size: int, places: Sequence[str]) -> Arrays:
    images = np.empty((len(files), 3, size, size), dtype=np.uint8)
    sizes = np.empty((len(files), 2), dtype=np.int64)
    for number, (file, place) in enumerate(zip(files, places, strict=True)):
        picture = _opened(file, place)
        sizes[number] = picture.height, picture.width
        images[number] = averaged(picture, size).transpose(2, 0, 1)
    return {"images": images, "sizes": sizes}


def averaged(picture: Image.Image, size: int) -> npt.NDArray[np.uint8]:
    """A picture resized to bytes [size, size, 3]: each pixel is the mean of the area it covers.

    >>> averaged(Image.fromarray(np.array([[0, 10], [20, 30]], dtype=np.uint8)).convert("RGB"), 1).tolist()
    [[[15, 15, 15]]]
    """
    return np.asarray(picture.resize((size, size), Image.Resampling.BOX))


def _opened(file: Path, place: str) -> Image.Image:
    try:
        with open_regular(file) as stream, Image.open(stream, formats=_FORMATS) as picture:
            if picture.mode in _DEEP:
                raise InputError(f"{place}: '{file.name}' has more than 8 bits per channel: save it with 8")
            upright = ImageOps.exif_transpose(picture)
            if upright.has_transparency_data:  # black where the picture is transparent
                backdrop = Image.new("RGBA", upright.size, (0, 0, 0, 255))
                upright = Image.alpha_composite(backdrop, upright.convert("RGBA"))
            return upright.convert("RGB")
    except UnidentifiedImageError:
        raise InputError(f"{place}: '{file.name}' is not a readable picture ({', '.join(_FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{place}: '{file.name}' cannot be read as a picture: {error}") from None
