"""Read sources from a folder: listed in ``index.csv``, or in ``targets/LABEL/``, ``backgrounds/LABEL/``, ``objects/LABEL/``."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from einstellung.composites.sources import (
    BACKGROUND,
    KINDS,
    SPLITS,
    Pixels,
    Source,
    SourceSet,
    check_first_labels,
    ordered_labels,
)
from einstellung.errors import InputError
from einstellung.foreign_files import MOST_TABLE_BYTES, below, open_regular, read_text
from einstellung.sources.locations import data_locations, describe_locations
from einstellung.sources.reading import file_hash

INDEX = "index.csv"
_COLUMNS = ("file", "kind", "label", "split")
_ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_SHARES = (0.7, 0.15)  # of a label's images for training and validation; the rest is for the test
FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")  # decoders that start no other program
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # more than 8 bits per channel, of unknown scale


def find_folder(name: str) -> Path:
    """The folder of that name in the data places."""
    if folders := _folders(name):
        return folders[0]
    raise InputError(
        f"no sources '{name}' in {describe_locations()}: set EINSTELLUNG_DATA to the folder that holds {name}/, "
        "or use 'procedural', which needs no files"
    )


def has_folder(name: str) -> bool:
    """Whether the data places have a folder of that name."""
    return bool(_folders(name))


def _folders(name: str) -> list[Path]:
    found = [folder for place in data_locations() for folder in (place.path / name, place.path)]
    return [folder for folder in found if folder.name == name and folder.is_dir()]


def read_folder(folder: Path, first: Sequence[str] = ()) -> SourceSet:
    """The sources of a folder, from its index if it has one."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return _indexed(folder, first) if (folder / INDEX).is_file() else _plain(folder, first)


def _indexed(folder: Path, first: Sequence[str]) -> SourceSet:
    index = folder / INDEX
    try:
        reader = csv.DictReader(io.StringIO(read_text(index, MOST_TABLE_BYTES), newline=""))
        rows = list(reader)
        columns = reader.fieldnames or []
    except csv.Error as error:
        raise InputError(f"{index} cannot be read: {error}") from None
    if missing := [column for column in _COLUMNS if column not in columns]:
        raise InputError(f"{index} has no column '{missing[0]}': it needs {', '.join(_COLUMNS)}")
    for line, row in enumerate(rows, 2):
        for column, known in (("kind", KINDS), ("split", SPLITS)):
            if row[column] not in known:
                raise InputError(f"{index}, line {line}: {column} is '{row[column]}', not one of {', '.join(known)}")
        if not row["file"] or not row["label"]:
            raise InputError(f"{index}, line {line}: give a file and a label")
        path = below(folder, row["file"], f"{index}, line {line}: file")
        if not path.is_file():
            raise InputError(f"{index}, line {line}: {path} is missing")
    names = [row["file"] for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise InputError(f"{index} lists '{twice}' twice: remove one line")
    labels = {
        kind: _labels(index, kind, [row["label"] for row in rows if row["kind"] == kind], first) for kind in KINDS
    }
    check_first_labels(first, labels)
    items = [
        _source(folder / row["file"], row["file"], row["kind"], labels[row["kind"]].index(row["label"]), row["split"])
        for row in rows
    ]
    return SourceSet(f"pictures of the folder '{folder.resolve().name}'", labels, tuple(items))


def _plain(folder: Path, first: Sequence[str]) -> SourceSet:
    labels: dict[str, tuple[str, str]] = {}
    items: list[Source] = []
    for kind in KINDS:
        kind_folder = folder / f"{kind}s"
        if not kind_folder.is_dir():
            raise InputError(
                f"{folder} has neither {INDEX} nor the folder {kind}s/: give one with targets/, backgrounds/ and objects/, "
                "each with a folder per label"
            )
        labels[kind] = _labels(
            kind_folder, kind, [one.name for one in kind_folder.iterdir() if one.is_dir() and _is_visible(one)], first
        )
        for value, label in enumerate(labels[kind]):
            for file, split in _split(kind_folder / label).items():
                items.append(_source(file, f"{kind}s/{label}/{file.name}", kind, value, split))
    check_first_labels(first, labels)
    return SourceSet(f"pictures of the folder '{folder.resolve().name}'", labels, tuple(items))


def _split(label_folder: Path) -> dict[Path, str]:
    """Assign images to splits in the order of their hashes, so that neither names nor the order on disk matter."""
    files = [file for file in sorted(label_folder.iterdir()) if file.suffix.lower() in _ENDINGS and _is_visible(file)]
    if len(files) < len(SPLITS):
        raise InputError(
            f"{label_folder} has {len(files)} images: training, validation and test need at least one each"
        )
    by_hash: dict[str, Path] = {}
    for file in files:
        known = by_hash.setdefault(file_hash(file, "sha256"), file)
        if known is not file:
            raise InputError(f"{known} and {file} are the same image: remove one")
    ordered = [by_hash[key] for key in sorted(by_hash)]
    train = min(max(1, round(_SHARES[0] * len(ordered))), len(ordered) - 2)
    val = min(max(1, round(_SHARES[1] * len(ordered))), len(ordered) - train - 1)
    bounds = {"train": ordered[:train], "val": ordered[train : train + val], "test": ordered[train + val :]}
    return {file: split for split, some in bounds.items() for file in some}


def _labels(where: Path, kind: str, found: Sequence[str], first: Sequence[str]) -> tuple[str, str]:
    if not found:
        raise InputError(f"{where} has no {kind}: composites need targets, backgrounds and objects")
    return ordered_labels(found, first, f"{where}, {kind}s")


def _source(file: Path, name: str, kind: str, value: int, split: str) -> Source:
    load = read_background if kind == BACKGROUND else read_cut_out
    return Source(name, kind, value, split, partial(load, file), partial(file_hash, file, "sha256"))


def _is_visible(path: Path) -> bool:
    """False for what file managers and archivers leave behind."""
    return not path.name.startswith((".", "__MACOSX"))


def read_cut_out(file: Path) -> Pixels:
    """[H, W, 4], upright; an image without an alpha channel is refused."""
    return _read_image(file, "RGBA")


def read_background(file: Path) -> Pixels:
    """[H, W, 3], upright; alpha is ignored."""
    return _read_image(file, "RGB")


def _read_image(file: Path, mode: str) -> Pixels:
    try:
        with open_regular(file) as stream, Image.open(stream, formats=FORMATS) as picture:
            if picture.mode in _DEEP:
                raise InputError(f"{file} has more than 8 bits per channel: save it with 8")
            upright = ImageOps.exif_transpose(picture)
            if mode == "RGBA" and not upright.has_transparency_data:
                raise InputError(f"{file} has no alpha channel: save the cut-out as PNG or WebP with one")
            return np.array(upright.convert(mode))
    except UnidentifiedImageError:
        raise InputError(f"{file} is not a readable image ({', '.join(FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} is not a readable image: {error}") from None
