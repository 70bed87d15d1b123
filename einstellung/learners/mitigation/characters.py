"""Chinese characters as masks: a font that has them, and lines of text drawn with it, each character only once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from einstellung.errors import InputError

FIRST, LAST = 0x4E00, 0x9FFF  # the block "CJK unified ideographs"
_FOLDER = Path("/usr/share/fonts/opentype/noto")
_PREFERRED = (
    "NotoSerifCJK-ExtraLight.ttc",
    "NotoSerifCJK-Light.ttc",
    "NotoSerifCJK-Regular.ttc",
    "NotoSansCJK-Light.ttc",
    "NotoSansCJK-Regular.ttc",
)
_OLDEST = 0x9FA5  # what was in the block from the beginning; a font may lack the few that came later
_NO_CHARACTER = "\uffff"


def find_font(method: str, given: str | None) -> Path:
    """The font file that was ``given``, or one among the usual places that has all the characters."""
    if given is not None:
        path = Path(given).expanduser()
        if not path.is_file():
            raise InputError(f"learners.{method}.font is '{given}': there is no such file")
        if not has_characters(path):
            raise InputError(
                f"learners.{method}.font is '{given}': that is no font with the characters U+{FIRST:X} to U+{_OLDEST:X}; "
                "NotoSerifCJK-ExtraLight.ttc has them"
            )
        return path
    for path in (*(_FOLDER / name for name in _PREFERRED), *_installed()):
        if path.is_file() and has_characters(path):
            return path
    raise InputError(
        f"{method} draws Chinese characters, but no font with them was found: give its path as learners.{method}.font, or "
        "install one (Debian: fonts-noto-cjk-extra)"
    )


def _installed() -> list[Path]:
    """The fonts that fontconfig knows to have Chinese characters, in alphabetical order."""
    program = shutil.which("fc-list")
    if program is None:
        return []
    listed = subprocess.run([program, "-f", "%{file}\n", ":lang=zh-cn"], capture_output=True, text=True, check=False)
    return sorted({Path(line) for line in listed.stdout.splitlines() if line})


def has_characters(path: Path) -> bool:
    """Whether a file is a font with the characters of the block, judged by a sample of them."""
    try:
        font = ImageFont.truetype(str(path), 16)
    except OSError:
        return False
    lacking = bytes(font.getmask(_NO_CHARACTER))
    return all(bytes(font.getmask(chr(code))) not in (lacking, b"") for code in range(FIRST, _OLDEST + 1, 331))


def simplified_face(path: Path) -> int:
    """Which face of a font file is the one for simplified Chinese; the first where none is."""
    number = 0
    while True:
        try:
            family = ImageFont.truetype(str(path), 16, index=number).getname()[0]
        except OSError:  # there are no more faces
            return 0
        if family is not None and family.split()[-1] == "SC":
            return number
        number += 1


class Characters:
    """The characters of the block at one size, side by side at equal distances, as they stand in a line of Chinese.

    A character is rendered when it is first needed. Its cell is one step wide and as high as a line of the font.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._font = ImageFont.truetype(
            str(path), size, index=simplified_face(path), layout_engine=ImageFont.Layout.BASIC
        )
        self._width = max(1, round(self._font.getlength(chr(FIRST))))
        self._height = max(1, sum(self._font.getmetrics()))
        count = LAST - FIRST + 1
        # zeroed memory is allocated page by page, as characters are rendered
        self._cells = torch.from_numpy(np.zeros((count, self._height, self._width), dtype=np.uint8))
        self._drawn = torch.zeros(count, dtype=torch.bool)

    def lines(self, numbers: Tensor) -> Tensor:
        """Lines of text (numbers of characters in the block, [N, L]) as masks: uint8 [N, height, L x width]."""
        for number in numbers[~self._drawn[numbers]].unique().tolist():
            self._cells[number] = self._cell(chr(FIRST + number))
            self._drawn[number] = True
        cells = self._cells[numbers]
        return cells.permute(0, 2, 1, 3).flatten(2)

    def _cell(self, character: str) -> Tensor:
        cell = Image.new("L", (self._width, self._height))
        ImageDraw.Draw(cell).text((0, 0), character, fill=255, font=self._font)
        return torch.from_numpy(np.array(cell))
