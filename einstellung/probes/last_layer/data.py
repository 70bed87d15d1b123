"""Training and test pictures of a last-layer study, and whether their classes are the classifier's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.classifiers.labelled import (
    LabelledFiles,
    from_class_folders,
    from_file_names,
    list_class_folders,
    list_pictures,
)
from einstellung.errors import InputError


@dataclass(frozen=True)
class Versions:
    """Training pictures under a shift; ``rows``: the training picture that each is a version of."""

    images: LabelledFiles
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True)
class LastLayerData:
    """``train_shifts``: versions of training pictures under a shift; ``test_shifts``: shifted pictures of the test classes.

    ``own``: the classes are the classifier's own, so that training can start from its last layer.
    """

    train: LabelledFiles
    test: LabelledFiles
    train_shifts: Mapping[str, Versions]
    test_shifts: Mapping[str, LabelledFiles]
    classes: int
    own: bool

    def facts(self) -> dict[str, Any]:
        """Plain values for a record, by set."""
        shifts = {f"train, {name}": versions.images for name, versions in self.train_shifts.items()}
        shifts |= {f"test, {name}": images for name, images in self.test_shifts.items()}
        return {name: images.facts() for name, images in {"train": self.train, "test": self.test, **shifts}.items()}


def read_data(
    train: Path, test: Path, train_shifts: Mapping[str, Path], test_shifts: Mapping[str, Path], classes: int
) -> LastLayerData:
    """Read numbered files (whose classes are the classifier's), or folders with one subfolder per class, named alike.

    If there are as many class folders as the classifier has classes, they are its classes in the order of their names; any
    other number is a new task, for which the last layer is initialised from scratch.
    """
    if files := list_pictures(train):
        sets = {folder: _numbered(folder) for folder in (test, *train_shifts.values(), *test_shifts.values())}
        first, count, own = from_file_names(files), classes, True
    else:
        names = [folder.name for folder in list_class_folders(train)]
        if len(names) < 2:
            raise InputError(
                f"{train}: give pictures with a class number at the start of their names, or at least two class folders"
            )
        sets = {
            folder: _by_folder(folder, names) for folder in (train, test, *train_shifts.values(), *test_shifts.values())
        }
        first, count, own = sets[train], len(names), len(names) == classes
    for images in (first, *sets.values()):
        images.check(count, "the classifier" if own else str(train))
    tested = {name: sets[folder] for name, folder in test_shifts.items()}
    for name, images in tested.items():
        if not np.isin(images.labels, sets[test].labels).any():
            raise InputError(f"--test-shift {name}: {test_shifts[name]} has no picture of any class in {test}")
    versions = {name: _versions(name, folder, sets[folder], train, first) for name, folder in train_shifts.items()}
    _check_disjoint([first, *(one.images for one in versions.values())], [sets[test], *tested.values()])
    return LastLayerData(first, sets[test], versions, tested, count, own)


def _numbered(folder: Path) -> LabelledFiles:
    if not (files := list_pictures(folder)):
        raise InputError(f"{folder} holds no pictures with a number at the start of their names, as --train does")
    return from_file_names(files)


def _by_folder(folder: Path, names: list[str]) -> LabelledFiles:
    folders = list_class_folders(folder)
    if unknown := [inside.name for inside in folders if inside.name not in names]:
        raise InputError(f"{folder / unknown[0]}: there is no such class in --train ({', '.join(names[:3])}, ...)")
    if not folders:
        raise InputError(f"{folder} holds no folders of pictures, one per class, as --train does")
    return from_class_folders({inside: names.index(inside.name) for inside in folders})


def _versions(name: str, folder: Path, images: LabelledFiles, train_folder: Path, train: LabelledFiles) -> Versions:
    """Match each picture with the training picture of the same relative path, ignoring the suffix."""
    rows = _by_path(train_folder, train)
    paths = _by_path(folder, images)
    if unknown := [path for path in paths if path not in rows]:
        raise InputError(
            f"--shift {name}: {len(unknown)} of the {len(images)} pictures in {folder} have no picture of the same name in "
            f"--train (e.g. {images.files[paths[unknown[0]]].relative_to(folder)}): name each one after its original"
        )
    return Versions(images, np.array([rows[path] for path in paths], dtype=np.int64))


def _by_path(folder: Path, images: LabelledFiles) -> dict[Path, int]:
    """The row of every picture by its relative path without suffix."""
    rows: dict[Path, int] = {}
    for row, file in enumerate(images.files):
        path = file.relative_to(folder).with_suffix("")
        if path in rows:
            raise InputError(f"{file}: another picture has that name with another suffix; rename one of them")
        rows[path] = row
    return rows


def _check_disjoint(trained: Iterable[LabelledFiles], tested: Iterable[LabelledFiles]) -> None:
    """Refuse a picture that is in both training and test, whatever its file name."""
    known = {content: file for images in trained for file, content in zip(images.files, images.contents, strict=True)}
    both = [
        (file, known[content])
        for images in tested
        for file, content in zip(images.files, images.contents, strict=True)
        if content in known
    ]
    if both:
        raise InputError(
            f"{len(both)} of the test pictures are also training pictures (e.g. {both[0][0]} is {both[0][1]}): remove them from "
            "one side"
        )
