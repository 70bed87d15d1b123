"""Stored sample images, and pictures as part of the page itself: PNG, pixel for pixel."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from einstellung.errors import InputError
from einstellung.npz import Arrays, read_npz


@dataclass(frozen=True)
class PictureRow:
    """Pictures of one kind, uint8 [N, H, W, 3]; the rows of a strip show the same scenes in the same order."""

    label: str
    images: np.ndarray


def read_samples(path: Path) -> Arrays:
    """The arrays of ``samples.npz``; never unpickles anything."""
    try:
        return read_npz(path)
    except InputError as error:
        raise InputError(f"{path} {error}; delete it: the same command makes it again") from None


def png_uri(image: np.ndarray) -> str:
    """An image as a data address.

    >>> png_uri(np.zeros((2, 2, 3), dtype=np.uint8))[:27]
    'data:image/png;base64,iVBOR'
    """
    from PIL import Image  # only pages with pictures need it

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def strip(rows: Sequence[PictureRow], most: int = 6) -> list[tuple[str, list[str]]]:
    """A few columns of every row, spread over what there is, as addresses."""
    shown = []
    for row in rows:
        count = min(most, len(row.images))
        places = np.linspace(0, len(row.images) - 1, count).round().astype(int)
        shown.append((row.label, [png_uri(row.images[place]) for place in places]))
    return shown
