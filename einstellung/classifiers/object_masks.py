"""Where the object of a picture is: a folder of masks, one for each picture, prepared as the picture is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from torch import Tensor

from einstellung.classifiers.classifier import Classifier
from einstellung.errors import InputError
from einstellung.foreign_files import open_regular

ENDINGS = (".png", ".bmp", ".tif", ".tiff")  # lossless, so that 0 stays 0
_FORMATS = ("PNG", "BMP", "TIFF")


def find_mask(folder: Path, name: str) -> Path:
    """The mask of the picture ``name`` (with its subfolder): the file of the same name, whatever the ending."""
    stem = Path(name).with_suffix("")
    for ending in ENDINGS:
        if (file := folder / f"{stem}{ending}").is_file():
            return file
    raise InputError(
        f"{folder} has no mask for {name}: add {stem}{ENDINGS[0]}, with 0 for the background and other values for the object"
    )


def read_mask(file: Path) -> npt.NDArray[np.bool_]:
    """bool [H, W]: the pixels that are not 0 in any channel; of a picture with transparency, those that are not transparent."""
    try:
        with open_regular(file) as stream, Image.open(stream, formats=_FORMATS) as picture:
            alpha = picture.mode in ("RGBA", "LA", "PA")
            values = np.asarray(picture.getchannel("A") if alpha else picture)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} cannot be read as a mask ({', '.join(_FORMATS)}): {error}") from None
    return np.asarray(values.reshape(*values.shape[:2], -1).any(axis=2))


def prepared_mask(file: Path, size: tuple[int, int], classifier: Classifier) -> Tensor:
    """bool [1, S, S]: the mask of a picture of ``size`` (height, width), resized and cropped as the classifier does."""
    mask = read_mask(file)
    if mask.shape != size:
        raise InputError(
            f"{file} has {mask.shape[1]} x {mask.shape[0]} pixels, its picture {size[1]} x {size[0]}: they must be equal"
        )
    shown = Image.fromarray(mask.astype(np.uint8) * 255).convert("RGB")
    inside = classifier.prepare(shown)[:1] > 127
    if not bool(inside.any()):
        raise InputError(f"{file} marks no object in the part of the picture that {classifier.name} sees: leave it out")
    return inside
