"""The table of an image folder: label, phase, split and cue box of every file. Errors name the line."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from einstellung.errors import InputError
from einstellung.foreign_files import MOST_TABLE_BYTES, below, read_text
from einstellung.registry import suggestion

REQUIRED = ("file", "label", "phase", "split")
BOX = ("top", "left", "height", "width")
COLUMNS = (*REQUIRED, "superclass", "group", *BOX)
_SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class PictureRow:
    """One row of the table; ``box`` is (top, left, height, width) in pixels of the upright picture, ``place`` file and line.

    ``name``: the file relative to the folder of all pictures.
    """

    place: str
    file: Path
    name: str
    label: str
    phase: str
    split: str
    superclass: str | None
    group: str | None
    box: tuple[int, int, int, int] | None


def read_picture_table(folder: Path, table: str, phases: Sequence[str] = ("T1", "T2")) -> list[PictureRow]:
    """All rows of the table, each checked alone and against the others; no file outside ``folder`` is ever opened.

    ``phases``: what the column ``phase`` may name; each must have a picture.
    """
    if not folder.is_dir():
        raise InputError(f"stream.path is '{folder}': there is no such folder")
    root = folder.resolve()
    path = below(root, table, "stream.table").resolve()
    lines = _lines(path)
    _, header = next(lines, (0, list[str]()))
    columns = _columns(header, path)
    rows: list[PictureRow] = []
    for number, fields in lines:
        place = f"{path}, line {number}"
        if len(fields) != len(header):
            raise InputError(f"{place}: {len(fields)} fields where the header has {len(header)}")
        rows.append(_row({name: fields[at].strip() for name, at in columns.items()}, root, place, phases))
    if not rows:
        raise InputError(f"{path} names no picture")
    _check_together(rows, path, phases)
    return rows


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Non-empty lines with their numbers."""
    text = read_text(path, MOST_TABLE_BYTES, "utf-8-sig")
    if "\0" in text:
        raise InputError(f"{path} is not a CSV file: it holds binary data")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from None


def _columns(header: Sequence[str], path: Path) -> dict[str, int]:
    names = [name.strip() for name in header]
    place = f"{path}, line 1"
    if missing := [name for name in REQUIRED if name not in names]:
        commas = "; are its columns separated by commas?" if len(names) == 1 else ""
        raise InputError(f"{place}: column '{missing[0]}' is missing (found: {', '.join(names) or 'none'}){commas}")
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise InputError(f"{place}: column '{twice[0]}' appears twice")
    for name in names:
        close = [] if name in COLUMNS else difflib.get_close_matches(name.lower(), COLUMNS, n=1, cutoff=0.8)
        if close and close[0] not in names:
            raise InputError(f"{place}: column '{name}' is unknown: did you mean '{close[0]}'?")
    if 0 < sum(name in names for name in BOX) < len(BOX):
        raise InputError(f"{place}: a box needs all of the columns {', '.join(BOX)}")
    return {name: names.index(name) for name in COLUMNS if name in names}


def _row(cells: Mapping[str, str], root: Path, place: str, phases: Sequence[str]) -> PictureRow:
    for name in REQUIRED:
        if not cells[name]:
            raise InputError(f"{place}: '{name}' is empty")
    for name, choices in (("phase", phases), ("split", _SPLITS)):
        if cells[name] not in choices:
            raise InputError(f"{place}: {name} is '{cells[name]}': {suggestion(cells[name], choices)}")
    file = below(root, cells["file"], f"{place}: file").resolve()
    if not file.is_file():
        raise InputError(f"{place}: there is no file '{cells['file']}' in {root}")
    return PictureRow(
        place=place,
        file=file,
        name=file.relative_to(root).as_posix(),
        label=cells["label"],
        phase=cells["phase"],
        split=cells["split"],
        superclass=cells.get("superclass") or None,
        group=cells.get("group") or None,
        box=_box([cells.get(name, "") for name in BOX], place),
    )


def _box(cells: Sequence[str], place: str) -> tuple[int, int, int, int] | None:
    if not any(cells):
        return None
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        raise InputError(
            f"{place}: the box is ({', '.join(cells)}): give {', '.join(BOX)} in whole pixels, or none of them"
        )
    top, left, height, width = (int(cell) for cell in cells)
    if not height or not width:
        raise InputError(f"{place}: the box is {height} pixels high and {width} wide: it is empty")
    return top, left, height, width


def _check_together(rows: Sequence[PictureRow], path: Path, phases: Sequence[str]) -> None:
    files: dict[Path, PictureRow] = {}
    labels: dict[str, PictureRow] = {}
    for row in rows:
        if (earlier := files.setdefault(row.file, row)) is not row:
            raise InputError(f"{row.place}: the same file as in {_line(earlier)}")
        first = labels.setdefault(row.label, row)
        if first.phase != row.phase:
            raise InputError(
                f"{row.place}: label '{row.label}' is in {row.phase}, but in {first.phase} in {_line(first)}: "
                "phases must not share labels"
            )
        if first.superclass != row.superclass:
            raise InputError(
                f"{row.place}: label '{row.label}' has superclass '{row.superclass or ''}', but "
                f"'{first.superclass or ''}' in {_line(first)}"
            )
    for phase in phases:
        if not any(row.phase == phase for row in rows):
            raise InputError(f"{path} names no picture of phase {phase}")
    parts = {(row.label, row.split) for row in rows}
    for label, first in labels.items():
        for split in ("train", "test"):
            if (label, split) not in parts:
                raise InputError(f"{first.place}: label '{label}' has no {split} image anywhere in the table")


def _line(row: PictureRow) -> str:
    return row.place.rpartition(", ")[2]
