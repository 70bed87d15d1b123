"""Cases of ConCon in folders, as its authors publish them and as they are made here: images by task and label."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from einstellung.errors import InputError
from einstellung.scenes.lots import LABELS
from einstellung.scenes.made import RECORDS, made_rules, read_made
from einstellung.scenes.published import CASES
from einstellung.scenes.records import Recorded, read_records, recorded
from einstellung.scenes.rule_book import RuleBook
from einstellung.scenes.sampling import SPLITS
from einstellung.scenes.store import SceneSet
from einstellung.sources.pictures import read_pictures

_NAMES = {name for variant, case in CASES.items() for name in (variant, case)}
_TASK = re.compile(r"t(0|[1-9]\d*)")


def load_case(folder: Path, variant: str, split: str, size: int | None = None) -> dict[int, SceneSet]:
    """The sets of all tasks of one split, with scenes where ``scenes.jsonl`` lies beside the images.

    ``folder`` holds the case (``case_strict_main`` or ``strict``, ...) or is it. The label is the folder's name: 1 is positive.
    All images have one size; they are averaged down to ``size`` pixels where that is given.
    """
    if split not in SPLITS:
        raise InputError(f"there is no split '{split}': give one of {', '.join(SPLITS)}")
    if size is not None and size < 1:
        raise InputError(f"images of {size} pixels a side: give 1 or more")
    images = _case_folder(folder, variant) / split / "images"
    if not images.is_dir():
        raise InputError(f"{images} is missing: the case is not whole")
    known = images.parent / RECORDS
    records = read_records(known) if known.is_file() else None
    sets: dict[int, SceneSet] = {}
    for task, place in _tasks(images).items():
        files = {label: _images(place, label) for label in LABELS}
        names = tuple(f"{place.name}/{label}/{file.name}" for label in LABELS for file in files[label])
        labels = np.repeat(LABELS, [len(files[label]) for label in LABELS]).astype(np.int64)
        told = None if records is None else recorded(names, records, known)
        sets[task] = _read([file for label in LABELS for file in files[label]], size, told, labels, names)
        _check_size(place, sets[0], sets[task])
    if records is not None:
        _check_whole(known, records.keys() - {name for one in sets.values() for name in one.names})
    return sets


def _check_size(place: Path, first: SceneSet, other: SceneSet) -> None:
    assert first.images is not None
    assert other.images is not None
    one, wanted = (images.shape[1] for images in (other.images, first.images))
    if one != wanted:
        raise InputError(f"{place}: its images are {one} pixels wide, those of t0 {wanted}: all must be alike")


def _check_whole(records: Path, lost: Set[str]) -> None:
    """Without its images, a task, or a share of one, would be missing silently."""
    if lost:
        raise InputError(
            f"{records} tells of {min(lost)}, which is not there ({len(lost):,} in all): the case is not whole"
        )


def _read(
    files: list[Path], size: int | None, told: Recorded | None, labels: npt.NDArray[np.int64], names: tuple[str, ...]
) -> SceneSet:
    height, width = _size_of(files[0])
    if height != width:
        raise InputError(f"{files[0]} is {width} pixels wide and {height} high: images must be square")
    if size is not None and size > width:
        raise InputError(
            f"{files[0]} is {width} pixels wide: it cannot be averaged down to {size}, give at most {width}"
        )
    pictures = read_pictures(files, size or width, [str(file.parent) for file in files])
    others = (pictures.sizes != width).any(axis=1)
    if others.any():
        row = int(others.argmax())
        high, wide = pictures.sizes[row].tolist()
        raise InputError(f"{files[row]} is {wide}x{high} pixels, {files[0].name} is {width}x{width}: all must be alike")
    return SceneSet(
        pictures.images.transpose(0, 2, 3, 1),
        None,
        told.scenes if told else None,
        told.attributes if told else None,
        told.places if told else None,
        labels,
        names,
        width,
    )


def _case_folder(folder: Path, variant: str) -> Path:
    if variant not in CASES:
        raise InputError(f"there is no variant '{variant}': give one of {', '.join(CASES)}")
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    names = list(dict.fromkeys((CASES[variant], variant)))
    for case in [folder / name for name in names] + ([folder] if folder.resolve().name in names else []):
        if case.is_dir() and (case != folder or any((case / split).is_dir() for split in SPLITS)):
            _check_finished(case)
            return case
    if (folder / f"{CASES[variant]}.zip").is_file():
        raise InputError(f"{folder} holds {CASES[variant]}.zip, but not unpacked: unpack it there first")
    there = sorted(one.name for one in _folders(folder))
    advice = "that variant is missing" if _NAMES & set(there) else "give the folder above it"
    raise InputError(
        f"{folder} does not hold the folder {' or '.join(names)}, but {', '.join(there[:5]) or 'no folder at all'}: {advice}"
    )


def rules_of(folder: Path) -> RuleBook | None:
    """The rules that a folder of cases, or the one that a case lies in, was made with here; None where it does not tell."""
    found = made_rules(folder)
    return made_rules(folder.resolve().parent) if found is None and folder.resolve().name in _NAMES else found


def _check_finished(case: Path) -> None:
    """A folder that is still being made, or was stopped, has images of some kinds and not of others."""
    made = read_made(case.parent)
    known = made["cases"].get(case.name) if made is not None else None
    if known is not None and not known["complete"]:
        raise InputError(f"{case} is not finished: run the command that makes it again, it goes on where it stopped")


def _tasks(images: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for place in _folders(images):
        match = _TASK.fullmatch(place.name)
        if match is None:
            raise InputError(f"{place} is no folder of a task: only t0, t1, ... may stand in {images}")
        found[int(match[1])] = place
    if not found:
        raise InputError(f"{images} holds no folder of a task (t0, t1, ...)")
    for task in range(max(found)):
        if task not in found:
            raise InputError(f"{images} lacks t{task}, though t{max(found)} is there: the case is not whole")
    return dict(sorted(found.items()))


def _images(place: Path, label: int) -> list[Path]:
    known = [str(one) for one in LABELS]
    for other in _folders(place):
        if other.name not in known:
            raise InputError(
                f"{other} is no folder of a label: only 1 (positive) and 0 (negative) may stand in {place}"
            )
    if not (place / str(label)).is_dir():
        raise InputError(f"{place / str(label)} is missing: every task has images of both labels")
    files = sorted(file for file in _entries(place / str(label)) if file.suffix.lower() == ".png" and _shown(file))
    if not files:
        raise InputError(f"{place / str(label)} holds no PNG file")
    return files


def _size_of(file: Path) -> tuple[int, int]:
    try:
        with Image.open(file, formats=("PNG",)) as picture:
            return picture.height, picture.width
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} cannot be read as a picture: {error}") from None


def _folders(place: Path) -> list[Path]:
    return [one for one in _entries(place) if one.is_dir() and _shown(one)]


def _entries(place: Path) -> list[Path]:
    try:
        return list(place.iterdir())
    except OSError as error:
        raise InputError(f"cannot look into {place}: {error.strerror or error}") from None


def _shown(path: Path) -> bool:
    """Not what file managers and archivers leave behind."""
    return not path.name.startswith((".", "__MACOSX"))
