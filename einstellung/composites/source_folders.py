"""Sources in a folder: listed in an ``index.csv``, or lying in ``targets/LABEL/``, ``backgrounds/LABEL/``, ``objects/LABEL/``."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from einstellung.composites.picture_files import read_background, read_cut_out
from einstellung.composites.sources import (
    BACKGROUND,
    KINDS,
    SPLITS,
    Source,
    Sources,
    check_first,
    ordered_labels,
)
from einstellung.errors import InputError
from einstellung.sources.locations import data_locations, describe_locations
from einstellung.sources.reading import file_hash

INDEX = "index.csv"
_COLUMNS = ("file", "kind", "label", "split")
_ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_SHARES = (0.7, 0.15)  # of a label's pictures that go to training and to validation; the others are for the test


def find_folder(name: str) -> Path:
    """The folder of that name in the places where data are looked for."""
    if folders := _folders(name):
        return folders[0]
    raise InputError(
        f"there are no sources '{name}' in {describe_locations()}: set EINSTELLUNG_DATA to the folder that holds {name}/, "
        "or take 'procedural', which needs no files"
    )


def has_folder(name: str) -> bool:
    """Whether there is a folder of that name in one of these places."""
    return bool(_folders(name))


def _folders(name: str) -> list[Path]:
    found = [folder for place in data_locations() for folder in (place.path / name, place.path)]
    return [folder for folder in found if folder.name == name and folder.is_dir()]


def read_folder(folder: Path, first: Sequence[str] = ()) -> Sources:
    """The sources of a folder, by its index where it has one."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    return _indexed(folder, first) if (folder / INDEX).is_file() else _plain(folder, first)


def _indexed(folder: Path, first: Sequence[str]) -> Sources:
    index = folder / INDEX
    try:
        with index.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            columns = reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{index} cannot be read: {error}") from None
    if missing := [column for column in _COLUMNS if column not in columns]:
        raise InputError(f"{index} has no column '{missing[0]}': it needs {', '.join(_COLUMNS)}")
    for line, row in enumerate(rows, 2):
        for column, known in (("kind", KINDS), ("split", SPLITS)):
            if row[column] not in known:
                raise InputError(f"{index}, line {line}: {column} is '{row[column]}', not one of {', '.join(known)}")
        if not row["file"] or not row["label"]:
            raise InputError(f"{index}, line {line}: it needs a file and a label")
        path = PurePosixPath(row["file"])
        if path.is_absolute() or ".." in path.parts:
            raise InputError(f"{index}, line {line}: '{row['file']}' lies outside of the folder")
        if not (folder / path).is_file():
            raise InputError(f"{index}, line {line}: {folder / path} is missing")
    names = [row["file"] for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise InputError(f"{index} lists '{twice}' twice: take one line out")
    labels = {
        kind: _labels(index, kind, [row["label"] for row in rows if row["kind"] == kind], first) for kind in KINDS
    }
    check_first(first, labels)
    items = [
        _source(folder / row["file"], row["file"], row["kind"], labels[row["kind"]].index(row["label"]), row["split"])
        for row in rows
    ]
    return Sources(f"pictures of the folder '{folder.resolve().name}'", labels, tuple(items))


def _plain(folder: Path, first: Sequence[str]) -> Sources:
    labels: dict[str, tuple[str, str]] = {}
    items: list[Source] = []
    for kind in KINDS:
        place = folder / f"{kind}s"
        if not place.is_dir():
            raise InputError(
                f"{folder} has neither {INDEX} nor the folder {kind}s/: give one with targets/, backgrounds/ and objects/, "
                "each with a folder for either label"
            )
        labels[kind] = _labels(
            place, kind, [one.name for one in place.iterdir() if one.is_dir() and _shown(one)], first
        )
        for value, label in enumerate(labels[kind]):
            for file, split in _split(place / label).items():
                items.append(_source(file, f"{kind}s/{label}/{file.name}", kind, value, split))
    check_first(first, labels)
    return Sources(f"pictures of the folder '{folder.resolve().name}'", labels, tuple(items))


def _split(place: Path) -> dict[Path, str]:
    """Every picture with its split: in the order of their hashes, so that neither a new name nor the disk's order moves one."""
    files = [file for file in sorted(place.iterdir()) if file.suffix.lower() in _ENDINGS and _shown(file)]
    if len(files) < len(SPLITS):
        raise InputError(f"{place} holds {len(files)} pictures: training, validation and test need one each at least")
    by_hash: dict[str, Path] = {}
    for file in files:
        known = by_hash.setdefault(file_hash(file, "sha256"), file)
        if known is not file:
            raise InputError(f"{known} and {file} are the same picture: take one away")
    ordered = [by_hash[key] for key in sorted(by_hash)]
    train = min(max(1, round(_SHARES[0] * len(ordered))), len(ordered) - 2)
    val = min(max(1, round(_SHARES[1] * len(ordered))), len(ordered) - train - 1)
    bounds = {"train": ordered[:train], "val": ordered[train : train + val], "test": ordered[train + val :]}
    return {file: split for split, some in bounds.items() for file in some}


def _labels(where: Path, kind: str, found: Sequence[str], first: Sequence[str]) -> tuple[str, str]:
    if not found:
        raise InputError(f"{where} has no {kind} at all: composites need targets, backgrounds and objects")
    return ordered_labels(found, first, f"{where}, {kind}s")


def _source(file: Path, name: str, kind: str, value: int, split: str) -> Source:
    load = read_background if kind == BACKGROUND else read_cut_out
    return Source(name, kind, value, split, partial(load, file), partial(file_hash, file, "sha256"))


def _shown(path: Path) -> bool:
    """Not what file managers and archivers leave behind."""
    return not path.name.startswith((".", "__MACOSX"))
