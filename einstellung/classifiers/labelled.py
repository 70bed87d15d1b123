"""Labelled picture folders: class numbers from file names, from a table, or from one folder per class."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.foreign_files import MOST_TABLE_BYTES, open_regular, read_text
from einstellung.sources.locations import data_locations
from einstellung.sources.reading import file_hash

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")  # decoders that start no other program
_NUMBERED = re.compile(r"(\d+)(?:[_\-. ](n\d{8}))?(?:[_\- ]([^.]*))?")
CLASSES = 1000  # of ImageNet
WNID = re.compile(r"n\d{8}")


@dataclass(frozen=True)
class LabelledFiles:
    """Picture files with their class numbers, and the names and WordNet ids of classes where known.

    ``folder_count``: the number of class folders, if a class is numbered only by the position of its folder.
    """

    files: tuple[Path, ...]
    labels: npt.NDArray[np.int64]
    names: Mapping[int, str] = field(default_factory=dict)
    wnids: Mapping[int, str] = field(default_factory=dict)
    folder_count: int | None = None

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """The hash of every file."""
        return tuple(file_hash(file, "sha256") for file in self.files)

    @cached_property
    def relative_names(self) -> tuple[str, ...]:
        """The files relative to the deepest folder that holds them all, so that no two have the same name."""
        root = Path(os.path.commonpath([file.parent.absolute() for file in self.files]))
        return tuple(file.absolute().relative_to(root).as_posix() for file in self.files)

    @property
    def digest(self) -> str:
        """A hash of the pictures and their classes, independent of file names."""
        return digest(sorted(zip(self.contents, self.labels.tolist(), strict=True)))

    def facts(self) -> dict[str, object]:
        """Plain values for a record."""
        return {"files": len(self), "classes": len(set(self.labels.tolist())), "content": self.digest}

    def take(self, rows: npt.NDArray[np.int64]) -> LabelledFiles:
        """The given rows."""
        return replace(self, files=tuple(self.files[row] for row in rows), labels=self.labels[rows])

    def check(self, classes: int, what: str) -> None:
        """Refuse labels that are no class of ``what``, and a number of class folders other than its number of classes."""
        if self.folder_count is not None and self.folder_count != classes:
            raise InputError(
                f"{self.files[0].parent.parent} has {self.folder_count} folders of pictures but {what} has {classes} classes: "
                "name folders by WordNet ids and give --wnids FILE, or number the files"
            )
        wrong = np.flatnonzero((self.labels < 0) | (self.labels >= classes))
        if len(wrong):
            file, label = self.files[wrong[0]], self.labels[wrong[0]]
            raise InputError(f"{file}: its class is {label}, but {what} has {classes} classes (0 to {classes - 1})")


def open_picture(file: Path) -> Image.Image:
    """The picture in RGB as stored: ImageNet classifiers are trained without applying the EXIF orientation."""
    try:
        with open_regular(file) as stream, Image.open(stream, formats=_FORMATS) as picture:
            return picture.convert("RGB")
    except UnidentifiedImageError:
        raise InputError(f"{file} is not a readable picture ({', '.join(_FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} cannot be read as a picture: {error}") from None


def list_pictures(folder: Path) -> list[Path]:
    """The picture files directly in a folder, sorted by name."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give a folder of pictures")
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS and file.is_file())


def list_class_folders(folder: Path) -> list[Path]:
    """The subfolders that hold pictures, sorted by name: one per class."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give a folder of pictures")
    return [inside for inside in sorted(folder.iterdir()) if inside.is_dir() and list_pictures(inside)]


def locate_folder(folder: Path) -> Path:
    """The folder itself or, if it does not exist, the one of that name in the data locations."""
    inside = [location.path / folder for location in data_locations()]
    return next((found for found in [folder, *inside] if found.is_dir()), folder)


def read_labelled(folder: Path, table: Path | None = None, wnids: Mapping[str, int] | None = None) -> LabelledFiles:
    """Labelled pictures from a table, else from numbers in file names, else from one folder per class.

    Folders are numbered by ``wnids`` if given, else in the order of their names, which for ImageNet's 1000 folders is the usual
    order of classes; :meth:`LabelledFiles.check` refuses a number of folders that differs from the classifier's classes.
    """
    if table is not None:
        return from_table(folder, table)
    if files := list_pictures(folder):
        return from_file_names(files)
    if folders := list_class_folders(folder):
        if wnids:
            return from_wnid_folders(folder, wnids)
        return replace(
            from_class_folders({inside: number for number, inside in enumerate(folders)}), folder_count=len(folders)
        )
    raise InputError(f"{folder} holds no pictures ({', '.join(ENDINGS)}), nor folders of them")


def from_file_names(files: Sequence[Path]) -> LabelledFiles:
    """Class numbers from the start of file names, with the WordNet id and class name that may follow.

    >>> some = from_file_names([Path("478_n02971356_carton.jpg"), Path("7.png")])
    >>> some.labels.tolist(), some.names, some.wnids
    ([478, 7], {478: 'carton'}, {478: 'n02971356'})
    """
    labels, names, wnids = [], {}, {}
    for file in files:
        found = _NUMBERED.match(file.name)
        if found is None:
            raise InputError(
                f"{file}: no class number at the start of its name; rename it, or give a table with --labels"
            )
        label = int(found[1])
        labels.append(label)
        if found[2]:
            wnids[label] = found[2]
            if found[3]:
                names[label] = found[3].replace("_", " ")
    return LabelledFiles(tuple(files), np.array(labels, dtype=np.int64), names, wnids)


def from_class_folders(numbers: Mapping[Path, int]) -> LabelledFiles:
    """All pictures of the given folders, each folder with its class number."""
    files, labels = [], []
    for folder, number in numbers.items():
        inside = list_pictures(folder)
        files += inside
        labels += [number] * len(inside)
    wnids = {number: folder.name for folder, number in numbers.items() if WNID.fullmatch(folder.name)}
    names = {number: folder.name for folder, number in numbers.items()}
    return LabelledFiles(tuple(files), np.array(labels, dtype=np.int64), names, wnids)


def from_wnid_folders(folder: Path, numbers: Mapping[str, int]) -> LabelledFiles:
    """Pictures in folders named by WordNet ids."""
    folders = list_class_folders(folder)
    if not folders:
        raise InputError(f"{folder} holds no folders of pictures: one folder per class, named by its WordNet id")
    for inside in folders:
        if inside.name not in numbers:
            why = "is a class whose number is unknown" if WNID.fullmatch(inside.name) else "is not a WordNet id"
            raise InputError(f"{inside}: '{inside.name}' {why}; give all {CLASSES} ids with --wnids FILE")
    return from_class_folders({inside: numbers[inside.name] for inside in folders})


def from_table(folder: Path, table: Path) -> LabelledFiles:
    """Pictures listed in a table with columns ``file`` (relative to the folder), ``label`` and optionally ``name``."""
    reader = csv.DictReader(read_text(table, MOST_TABLE_BYTES, "utf-8-sig").splitlines())
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InputError(f"{table} cannot be read ({error}): give a CSV table of file,label") from None
    if not {"file", "label"} <= set(reader.fieldnames or ()):
        raise InputError(f"{table}: its first line must name the columns file and label")
    files, labels, names = [], [], {}
    for number, row in rows:
        file = folder / (row["file"] or "")
        if not file.is_file():
            raise InputError(f"{table}, line {number}: there is no file {file}")
        try:
            labels.append(int(row["label"]))
        except (TypeError, ValueError):
            raise InputError(f"{table}, line {number}: the label '{row['label']}' is not a class number") from None
        files.append(file)
        if row.get("name"):
            names[labels[-1]] = str(row["name"])
    if not files:
        raise InputError(f"{table} names no file")
    return LabelledFiles(tuple(files), np.array(labels, dtype=np.int64), names)
