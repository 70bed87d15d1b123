"""Which pictures are learned from and tested on, and whether their classes are the classifier's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.classifiers.labelled import Labelled, class_folders, in_folders, numbered, pictures_in
from einstellung.errors import InputError


@dataclass(frozen=True)
class Versions:
    """Training pictures under a shift; ``rows``: of which training picture each of them is a version."""

    images: Labelled
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pictures:
    """``train_shifts``: training pictures again under a shift; ``test_shifts``: other pictures of the test's classes.

    ``own``: classes are numbered as the classifier numbers them, so that its last layer can be begun with.
    """

    train: Labelled
    test: Labelled
    train_shifts: Mapping[str, Versions]
    test_shifts: Mapping[str, Labelled]
    classes: int
    own: bool

    def facts(self) -> dict[str, Any]:
        """What a record says of every set."""
        shifts = {f"train, {name}": versions.images for name, versions in self.train_shifts.items()}
        shifts |= {f"test, {name}": images for name, images in self.test_shifts.items()}
        return {name: images.facts() for name, images in {"train": self.train, "test": self.test, **shifts}.items()}


def read(
    train: Path, test: Path, train_shifts: Mapping[str, Path], test_shifts: Mapping[str, Path], classes: int
) -> Pictures:
    """Numbered files (classes are the classifier's), or one folder per class in all of them, named alike.

    As many folders as the classifier has classes are its own classes, in the order of their names; any other number is a
    task of its own, for which a last layer is begun anew.
    """
    if files := pictures_in(train):
        sets = {place: _numbered(place) for place in (test, *train_shifts.values(), *test_shifts.values())}
        first, count, own = numbered(files), classes, True
    else:
        names = [folder.name for folder in class_folders(train)]
        if len(names) < 2:
            raise InputError(
                f"{train}: pictures with a number at the start of their names, or a folder per class, are needed"
            )
        sets = {
            place: _by_folder(place, names) for place in (train, test, *train_shifts.values(), *test_shifts.values())
        }
        first, count, own = sets[train], len(names), len(names) == classes
    for images in (first, *sets.values()):
        images.check(count, "the classifier" if own else str(train))
    tested = {name: sets[place] for name, place in test_shifts.items()}
    for name, images in tested.items():
        if not np.isin(images.labels, sets[test].labels).any():
            raise InputError(f"--test-shift {name}: {test_shifts[name]} has no picture of any class in {test}")
    versions = {name: _versions(name, place, sets[place], train, first) for name, place in train_shifts.items()}
    _check_apart([first, *(one.images for one in versions.values())], [sets[test], *tested.values()])
    return Pictures(first, sets[test], versions, tested, count, own)


def _numbered(folder: Path) -> Labelled:
    if not (files := pictures_in(folder)):
        raise InputError(f"{folder} holds no pictures with a number at the start of their names, as --train does")
    return numbered(files)


def _by_folder(folder: Path, names: list[str]) -> Labelled:
    folders = class_folders(folder)
    if unknown := [inside.name for inside in folders if inside.name not in names]:
        raise InputError(f"{folder / unknown[0]}: there is no such class in --train ({', '.join(names[:3])}, ...)")
    if not folders:
        raise InputError(f"{folder} holds no folders of pictures, one per class, as --train does")
    return in_folders({inside: names.index(inside.name) for inside in folders})


def _versions(name: str, folder: Path, images: Labelled, train_folder: Path, train: Labelled) -> Versions:
    """A picture is a version of the training picture with the same path in its folder, the ending apart."""
    rows = _by_path(train_folder, train)
    paths = _by_path(folder, images)
    if unknown := [path for path in paths if path not in rows]:
        raise InputError(
            f"--shift {name}: {len(unknown)} of the {len(images)} pictures in {folder} have no picture of the same name in "
            f"--train (e.g. {images.files[paths[unknown[0]]].relative_to(folder)}): name each one as the picture it is made from"
        )
    return Versions(images, np.array([rows[path] for path in paths], dtype=np.int64))


def _by_path(folder: Path, images: Labelled) -> dict[Path, int]:
    """The place of every picture by its path in the folder, without its ending."""
    places: dict[Path, int] = {}
    for place, file in enumerate(images.files):
        path = file.relative_to(folder).with_suffix("")
        if path in places:
            raise InputError(f"{file}: there is another picture of that name, with another ending; rename one of them")
        places[path] = place
    return places


def _check_apart(learned: Iterable[Labelled], tested: Iterable[Labelled]) -> None:
    """No picture may be learned from and tested on, whatever its file is called."""
    known = {content: file for images in learned for file, content in zip(images.files, images.contents, strict=True)}
    both = [
        (file, known[content])
        for images in tested
        for file, content in zip(images.files, images.contents, strict=True)
        if content in known
    ]
    if both:
        raise InputError(
            f"{len(both)} of the pictures to test on are also learned from (e.g. {both[0][0]} is {both[0][1]}): take them out of "
            "one side"
        )
