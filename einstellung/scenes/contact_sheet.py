"""A contact sheet: some images of every class and task of a case on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from einstellung.files import write_atomically
from einstellung.scenes.rules import RuleBook

_COLUMNS = 8
_TILE = 128  # pixels, at least
_GAP = 6
_INK, _PALE = (20, 20, 20), (110, 110, 110)


@dataclass(frozen=True)
class SheetRow:
    """Images [n, S, S, 3] of one class of a task; the first eight are shown."""

    task: int
    label: int
    images: npt.NDArray[np.uint8]


def contact_sheet(book: RuleBook, variant: str, rows: Sequence[SheetRow]) -> Image.Image:
    """The sheet as an image: one row per class, with its caption on the left."""
    size = rows[0].images.shape[1]
    tile = size * -(-_TILE // size)
    margin, title = round(1.45 * tile), round(0.3 * tile)
    large, small = (ImageFont.load_default(share * tile) for share in (0.13, 0.1))
    width = margin + _COLUMNS * (tile + _GAP)
    sheet = Image.new("RGB", (width, title + len(rows) * (tile + _GAP)), "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((_GAP, title * 0.3), f"{variant}: positive is '{book.ground_truth_words()}'", _INK, large)
    for number, row in enumerate(rows):
        top = title + number * (tile + _GAP)
        pen.text((_GAP, top + 0.3 * tile), f"T{row.task + 1}, {'positive' if row.label else 'negative'}", _INK, large)
        lines = _lines(_caption(book, variant, row), margin - 2 * _GAP, partial(pen.textlength, font=small))
        pen.multiline_text((_GAP, top + 0.5 * tile), "\n".join(lines), _PALE, small)
        for column, image in enumerate(row.images[:_COLUMNS]):
            shown = Image.fromarray(image).resize((tile, tile), Image.Resampling.BICUBIC)
            sheet.paste(shown, (margin + column * (tile + _GAP), top))
    return sheet


def write_contact_sheet(path: Path, book: RuleBook, variant: str, rows: Sequence[SheetRow]) -> Path:
    """Write the sheet as a PNG file."""
    return write_atomically(path, partial(contact_sheet(book, variant, rows).save, format="PNG", dpi=(300, 300)))


def _lines(text: str, width: float, length: Callable[[str], float]) -> list[str]:
    """Wrap text into lines no longer than ``width``; longer words get a line of their own.

    >>> _lines("large yellow rubber cylinder and blue metal", 20, len)
    ['large yellow rubber', 'cylinder and blue', 'metal']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and length(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _caption(book: RuleBook, variant: str, row: SheetRow) -> str:
    if variant == "unconfounded":
        return "no confounder"
    words = book.confounder_words(row.task)
    if variant == "disjoint" and book.tasks > 1:
        return f"{words}, no other one" if row.label else "no confounder at all"
    return words if row.label else f"no {words}"
