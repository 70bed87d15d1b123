"""Folders of pictures with their classes: a number at the start of a file's name, a table, or one folder per class."""

from __future__ import annotations

import csv
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
from einstellung.sources.places import places
from einstellung.sources.reading import file_hash

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_FORMATS = ("BMP", "JPEG", "PNG", "TIFF", "WEBP")  # plain decoders: nothing here starts another program
_NUMBERED = re.compile(r"(\d+)(?:[_\-. ](n\d{8}))?(?:[_\- ]([^.]*))?")
CLASSES = 1000  # of ImageNet
WNID = re.compile(r"n\d{8}")


@dataclass(frozen=True)
class Labelled:
    """Picture files and the number of each one's class; names and WordNet ids of classes where they are known.

    ``counted``: how many class folders there were, where a class is nothing but the place of its folder among them.
    """

    files: tuple[Path, ...]
    labels: npt.NDArray[np.int64]
    names: Mapping[int, str] = field(default_factory=dict)
    wnids: Mapping[int, str] = field(default_factory=dict)
    counted: int | None = None

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """The hash of every file."""
        return tuple(file_hash(file, "sha256") for file in self.files)

    @property
    def digest(self) -> str:
        """The same for the same pictures with the same classes, whatever the files are called."""
        return digest(sorted(zip(self.contents, self.labels.tolist(), strict=True)))

    def facts(self) -> dict[str, object]:
        """What a record says of them."""
        return {"files": len(self), "classes": len(set(self.labels.tolist())), "content": self.digest}

    def only(self, rows: npt.NDArray[np.int64]) -> Labelled:
        """Some of the pictures."""
        return replace(self, files=tuple(self.files[row] for row in rows), labels=self.labels[rows])

    def check(self, classes: int, what: str) -> None:
        """Every label must be a class of ``what``, and folders that are only counted must be as many as its classes."""
        if self.counted is not None and self.counted != classes:
            raise InputError(
                f"{self.files[0].parent.parent} has {self.counted} folders of pictures, and {what} {classes} classes: which is "
                "which is not known; name folders by WordNet ids and give --wnids FILE, or number the files"
            )
        wrong = np.flatnonzero((self.labels < 0) | (self.labels >= classes))
        if len(wrong):
            file, label = self.files[wrong[0]], self.labels[wrong[0]]
            raise InputError(f"{file}: its class is {label}, and {what} has {classes} (0 to {classes - 1})")


def opened(file: Path) -> Image.Image:
    """The picture in RGB, as it is stored: ImageNet's classifiers are trained without turning pictures upright."""
    try:
        with Image.open(file, formats=_FORMATS) as picture:
            return picture.convert("RGB")
    except UnidentifiedImageError:
        raise InputError(f"{file} is no picture that can be read ({', '.join(_FORMATS)})") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} cannot be read as a picture: {error}") from None


def pictures_in(folder: Path) -> list[Path]:
    """The picture files directly in a folder, in the order of their names."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give a folder of pictures")
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS and file.is_file())


def class_folders(folder: Path) -> list[Path]:
    """The folders in a folder that hold pictures, in the order of their names: one per class."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give a folder of pictures")
    return [inside for inside in sorted(folder.iterdir()) if inside.is_dir() and pictures_in(inside)]


def located(folder: Path) -> Path:
    """The folder itself, or where there is none, one of that name where data are looked for."""
    inside = [place.path / folder for place in places()]
    return next((found for found in [folder, *inside] if found.is_dir()), folder)


def labelled(folder: Path, table: Path | None = None, wnids: Mapping[str, int] | None = None) -> Labelled:
    """Pictures by what is there: a table, numbers at the start of names, or one folder per class.

    Folders named by WordNet ids have the numbers of ``wnids``, where these are given. Any others are numbered in the order of
    their names, which for ImageNet's 1000 folders is the usual order of classes; :meth:`Labelled.check` refuses another number
    of folders than a classifier has classes.
    """
    if table is not None:
        return tabled(folder, table)
    if files := pictures_in(folder):
        return numbered(files)
    if folders := class_folders(folder):
        if wnids:
            return by_wnid(folder, wnids)
        return replace(in_folders({inside: number for number, inside in enumerate(folders)}), counted=len(folders))
    raise InputError(f"{folder} holds no pictures ({', '.join(ENDINGS)}), nor folders of them")


def numbered(files: Sequence[Path]) -> Labelled:
    """The class is the number at the start of a name; a WordNet id and a class's name after it are read as well.

    >>> some = numbered([Path("478_n02971356_carton.jpg"), Path("7.png")])
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
    return Labelled(tuple(files), np.array(labels, dtype=np.int64), names, wnids)


def in_folders(numbers: Mapping[Path, int]) -> Labelled:
    """All pictures of some folders, each folder with the number of its class."""
    files, labels = [], []
    for folder, number in numbers.items():
        inside = pictures_in(folder)
        files += inside
        labels += [number] * len(inside)
    wnids = {number: folder.name for folder, number in numbers.items() if WNID.fullmatch(folder.name)}
    names = {number: folder.name for folder, number in numbers.items()}
    return Labelled(tuple(files), np.array(labels, dtype=np.int64), names, wnids)


def by_wnid(folder: Path, numbers: Mapping[str, int]) -> Labelled:
    """The pictures of folders that are named by WordNet ids."""
    folders = class_folders(folder)
    if not folders:
        raise InputError(f"{folder} holds no folders of pictures: one folder per class, named by its WordNet id")
    for inside in folders:
        if inside.name not in numbers:
            why = "is no WordNet id" if not WNID.fullmatch(inside.name) else "is a class whose number is not known"
            raise InputError(f"{inside}: '{inside.name}' {why}; give all {CLASSES} ids with --wnids FILE")
    return in_folders({inside: numbers[inside.name] for inside in folders})


def tabled(folder: Path, table: Path) -> Labelled:
    """The pictures that a table names: columns ``file`` (relative to the folder) and ``label``, and ``name`` if wanted."""
    try:
        lines = table.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{table} cannot be read ({error}): give a CSV table of file,label") from None
    reader = csv.DictReader(lines)
    if not {"file", "label"} <= set(reader.fieldnames or ()):
        raise InputError(f"{table}: its first line must name the columns file and label")
    files, labels, names = [], [], {}
    for row in reader:
        file = folder / (row["file"] or "")
        if not file.is_file():
            raise InputError(f"{table}, line {reader.line_num}: there is no file {file}")
        try:
            labels.append(int(row["label"]))
        except (TypeError, ValueError):
            raise InputError(
                f"{table}, line {reader.line_num}: the label is '{row['label']}', not the number of a class"
            ) from None
        files.append(file)
        if row.get("name"):
            names[labels[-1]] = str(row["name"])
    if not files:
        raise InputError(f"{table} names no file")
    return Labelled(tuple(files), np.array(labels, dtype=np.int64), names)
