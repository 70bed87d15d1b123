"""Read ConCon cases from folders in the published layout: images by task and label."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from einstellung.errors import InputError
from einstellung.foreign_files import open_regular
from einstellung.scenes.manifest import RECORDS, manifest_rules, read_manifest
from einstellung.scenes.published import CASES
from einstellung.scenes.records import RecordedScenes, read_records, scenes_from_records
from einstellung.scenes.rule_book import RuleBook
from einstellung.scenes.sampling import SPLITS
from einstellung.scenes.store import SceneSet
from einstellung.scenes.work_chunks import LABELS
from einstellung.sources.pictures import read_pictures

_NAMES = {name for variant, case in CASES.items() for name in (variant, case)}
_TASK = re.compile(r"t(0|[1-9]\d*)")


def load_case(folder: Path, variant: str, split: str, size: int | None = None) -> dict[int, SceneSet]:
    """Load the sets of all tasks of one split, with scenes if there is a ``scenes.jsonl`` next to the images.

    ``folder`` is the case's folder (``case_strict_main`` or ``strict``, ...) or its parent. The folder name is the label: 1 is
    positive. All images must have the same size; ``size`` averages them down to that many pixels.
    """
    if split not in SPLITS:
        raise InputError(f"unknown split '{split}': give one of {', '.join(SPLITS)}")
    if size is not None and size < 1:
        raise InputError(f"size is {size}: give at least 1 pixel")
    images = _case_folder(folder, variant) / split / "images"
    if not images.is_dir():
        raise InputError(f"{images} is missing: the case is incomplete")
    known = images.parent / RECORDS
    records = read_records(known) if known.is_file() else None
    sets: dict[int, SceneSet] = {}
    for task, task_folder in _tasks(images).items():
        files = {label: _images(task_folder, label) for label in LABELS}
        names = tuple(f"{task_folder.name}/{label}/{file.name}" for label in LABELS for file in files[label])
        labels = np.repeat(LABELS, [len(files[label]) for label in LABELS]).astype(np.int64)
        recorded = None if records is None else scenes_from_records(names, records, known)
        sets[task] = _read([file for label in LABELS for file in files[label]], size, recorded, labels, names)
        _check_size(task_folder, sets[0], sets[task])
    if records is not None:
        _check_no_image_missing(known, records.keys() - {name for one in sets.values() for name in one.names})
    return sets


def _check_size(task_folder: Path, first: SceneSet, other: SceneSet) -> None:
    assert first.images is not None
    assert other.images is not None
    one, wanted = (images.shape[1] for images in (other.images, first.images))
    if one != wanted:
        raise InputError(
            f"{task_folder}: images are {one} pixels wide, those of t0 {wanted}: all must have the same size"
        )


def _check_no_image_missing(records: Path, missing: Set[str]) -> None:
    """Otherwise a task, or part of one, would be missing silently."""
    if missing:
        raise InputError(
            f"{records} lists {min(missing)}, which does not exist ({len(missing):,} in all): the case is incomplete"
        )


def _read(
    files: list[Path],
    size: int | None,
    recorded: RecordedScenes | None,
    labels: npt.NDArray[np.int64],
    names: tuple[str, ...],
) -> SceneSet:
    height, width = _image_size(files[0])
    if height != width:
        raise InputError(f"{files[0]} is {width}x{height} pixels: images must be square")
    if size is not None and size > width:
        raise InputError(f"{files[0]} is {width} pixels wide: cannot be averaged down to {size}, give at most {width}")
    pictures = read_pictures(files, size or width, [str(file.parent) for file in files])
    others = (pictures.sizes != width).any(axis=1)
    if others.any():
        row = int(others.argmax())
        high, wide = pictures.sizes[row].tolist()
        raise InputError(
            f"{files[row]} is {wide}x{high} pixels, {files[0].name} is {width}x{width}: all must have the same size"
        )
    return SceneSet(
        pictures.images.transpose(0, 2, 3, 1),
        None,
        recorded.scenes if recorded else None,
        recorded.attributes if recorded else None,
        recorded.places if recorded else None,
        labels,
        names,
        width,
    )


def _case_folder(folder: Path, variant: str) -> Path:
    if variant not in CASES:
        raise InputError(f"unknown variant '{variant}': give one of {', '.join(CASES)}")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    names = list(dict.fromkeys((CASES[variant], variant)))
    for case in [folder / name for name in names] + ([folder] if folder.resolve().name in names else []):
        if case.is_dir() and (case != folder or any((case / split).is_dir() for split in SPLITS)):
            _check_finished(case)
            return case
    if (folder / f"{CASES[variant]}.zip").is_file():
        raise InputError(f"{folder} holds {CASES[variant]}.zip: unpack it there first")
    there = sorted(one.name for one in _folders(folder))
    advice = "this variant is missing" if _NAMES & set(there) else "give its parent folder"
    raise InputError(
        f"{folder} has no folder {' or '.join(names)}, it holds {', '.join(there[:5]) or 'no folder at all'}: {advice}"
    )


def rules_of(folder: Path) -> RuleBook | None:
    """The rules that a folder of cases, or the parent of a case, was made with; None if it has no manifest."""
    found = manifest_rules(folder)
    return manifest_rules(folder.resolve().parent) if found is None and folder.resolve().name in _NAMES else found


def _check_finished(case: Path) -> None:
    """A folder that is being made, or was interrupted, lacks images."""
    manifest = read_manifest(case.parent)
    known = manifest["cases"].get(case.name) if manifest is not None else None
    if known is not None and not known["complete"]:
        raise InputError(f"{case} is incomplete: rerun the command that makes it to resume")


def _tasks(images: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for task_folder in _folders(images):
        match = _TASK.fullmatch(task_folder.name)
        if match is None:
            raise InputError(f"{task_folder} is not a task folder: {images} may only hold t0, t1, ...")
        found[int(match[1])] = task_folder
    if not found:
        raise InputError(f"{images} has no task folder (t0, t1, ...)")
    for task in range(max(found)):
        if task not in found:
            raise InputError(f"{images} lacks t{task} but has t{max(found)}: the case is incomplete")
    return dict(sorted(found.items()))


def _images(task_folder: Path, label: int) -> list[Path]:
    known = [str(one) for one in LABELS]
    for other in _folders(task_folder):
        if other.name not in known:
            raise InputError(
                f"{other} is not a label folder: {task_folder} may only hold 1 (positive) and 0 (negative)"
            )
    if not (task_folder / str(label)).is_dir():
        raise InputError(f"{task_folder / str(label)} is missing: every task needs images of both labels")
    files = sorted(
        file for file in _entries(task_folder / str(label)) if file.suffix.lower() == ".png" and _is_visible(file)
    )
    if not files:
        raise InputError(f"{task_folder / str(label)} has no PNG file")
    return files


def _image_size(file: Path) -> tuple[int, int]:
    try:
        with open_regular(file) as stream, Image.open(stream, formats=("PNG",)) as picture:
            return picture.height, picture.width
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{file} is not a readable image: {error}") from None


def _folders(folder: Path) -> list[Path]:
    return [one for one in _entries(folder) if one.is_dir() and _is_visible(one)]


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot list {folder}: {error.strerror or error}") from None


def _is_visible(path: Path) -> bool:
    """False for what file managers and archivers leave behind."""
    return not path.name.startswith((".", "__MACOSX"))
