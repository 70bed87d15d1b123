"""Which pictures are learned from and tested on, and whether their classes are the classifier's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from einstellung.classifiers.labelled import Labelled, class_folders, in_folders, numbered, pictures_in
from einstellung.errors import InputError


@dataclass(frozen=True)
class Pictures:
    """``train_shifts``: the training pictures again under a shift; ``test_shifts`` the same of the test pictures.

    ``own``: classes are numbered as the classifier numbers them, so that its last layer can be begun with.
    """

    train: Labelled
    test: Labelled
    train_shifts: Mapping[str, Labelled]
    test_shifts: Mapping[str, Labelled]
    classes: int
    own: bool


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
    return Pictures(
        first,
        sets[test],
        {name: sets[place] for name, place in train_shifts.items()},
        {name: sets[place] for name, place in test_shifts.items()},
        count,
        own,
    )


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
