"""Read finished composites in the folder layout of UrbanCars' authors.

``bg-R_co_occur_obj-R/SPLIT/obj-Y_bg-B_co_occur_obj-C/NNN.jpg``, next to ``NNN_mask.png`` (the target) and
``NNN_co_occur_obj_mask.png``. Training images are under their correlations, validation and test under those of a balanced set
(0.5) or under the same. ``NNN_bg_only.png``, which the authors' program writes on request, is the complete background; without
it, what is behind target and co-object is interpolated from the pixels left and right of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from einstellung.composites.build import Composites
from einstellung.composites.geometry import OPAQUE, Window, check_size
from einstellung.composites.groups import group_shares
from einstellung.composites.layers import CompositeLayers, CutOuts, Masks
from einstellung.composites.sources import KINDS, OBJECT, TARGET, Pixels, check_first_labels, ordered_labels
from einstellung.composites.split_plan import Numbers, Parts, SplitPlan
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.sources.pictures import DecodedPictures, read_pictures

MANIFEST = "made.json"
MASK, OBJECT_MASK, BACKGROUND_ONLY = "_mask.png", "_co_occur_obj_mask.png", "_bg_only.png"
_GROUP = re.compile(r"obj-(.+)_bg-(.+)_co_occur_obj-(.+)")
_BALANCED = (0.5, 0.5)


@dataclass(frozen=True)
class _Images:
    """The images of a set with their labels and values, sorted by name."""

    files: list[Path]
    labels: dict[str, list[int]]


def case_name(correlations: Sequence[float]) -> str:
    """The folder name of a pair of correlations.

    >>> case_name((0.95, 0.95))
    'bg-0.95_co_occur_obj-0.95'
    """
    background, co_object = map(float, correlations)
    return f"bg-{background}_co_occur_obj-{co_object}"


def group_name(labels: Sequence[str]) -> str:
    """The folder name of a group, from the labels of target, background and co-object.

    >>> group_name(("urban", "country", "urban"))
    'obj-urban_bg-country_co_occur_obj-urban'
    """
    return "obj-{}_bg-{}_co_occur_obj-{}".format(*labels)


def is_published(folder: Path) -> bool:
    """Whether a folder holds finished composites rather than sources."""
    cases = "bg-*_co_occur_obj-*"
    return folder.is_dir() and (folder.match(cases) or any(folder.glob(cases)))


def read_published(
    folder: Path, phases: tuple[tuple[float, ...], ...], size: int, first: Sequence[str] = ()
) -> Composites:
    """The training images of every phase, validation and test, averaged down to ``size`` pixels."""
    check_size(size)
    if any(len(phase) != 2 for phase in phases):
        raise InputError(f"{folder} has composites with two cues: give two correlations per phase")
    if len(set(phases)) < len(phases):
        raise InputError(f"two phases have the same correlations, but {folder} has images for one: give different ones")
    split_folders = {f"T{number + 1}": _case(folder, "train", [phase]) for number, phase in enumerate(phases)}
    split_folders |= {split: _case(folder, split, [_BALANCED, *phases]) for split in ("val", "test")}
    labels = _labels(folder, split_folders["test"], first)
    check_first_labels(first, labels)
    correlations = {f"T{number + 1}": phase for number, phase in enumerate(phases)}
    found = {
        name: _images(split_folder, labels, correlations.get(name, _BALANCED))
        for name, split_folder in split_folders.items()
    }
    images, masks, objects, backgrounds, complete = _read(
        [file for some in found.values() for file in some.files], size
    )
    plans, start = [], 0
    for name, some in found.items():
        rows = np.arange(start, start + len(some.files), dtype=np.int64)
        start += len(rows)
        plans.append(SplitPlan(name, np.array(some.labels[TARGET]), Parts(rows, rows, rows, np.zeros_like(rows))))
    values = {kind: np.array([value for some in found.values() for value in some.labels[kind]]) for kind in KINDS}
    names = [
        f"{file.parent.parent.name}/{file.parent.name}/{file.name}" for one in found.values() for file in one.files
    ]
    layers = CompositeLayers(
        size,
        _cut(images, masks),
        backgrounds,
        _cut(images, objects & ~masks),
        values,
        dict.fromkeys(KINDS, tuple(names)),
    )
    backgrounds_from = (
        "with complete backgrounds" if complete else "with hidden background pixels interpolated from the sides"
    )
    words = f"finished composites read from a folder, {backgrounds_from}; whether two images share a source is unknown"
    return Composites(tuple(plans), layers, phases, labels, words, sources_known=False)


def _case(folder: Path, split: str, choices: Sequence[Sequence[float]]) -> Path:
    names = list(dict.fromkeys(case_name(choice) for choice in choices))
    for name in names:
        if (folder / name / split).is_dir():
            return folder / name / split
    there = ", ".join(sorted(one.name for one in folder.glob("bg-*_co_occur_obj-*"))[:5]) or "none"
    wanted = " or ".join(f"{name}/{split}" for name in names)
    raise InputError(
        f"{folder} lacks {wanted} (found: {there}): give the parent folder, and the correlations of the phases"
    )


def _labels(folder: Path, split_folder: Path, first: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The labels of each kind; in the order of the manifest if the folder was made by this program."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for group in sorted(one for one in split_folder.iterdir() if one.is_dir() and not one.name.startswith(".")):
        match = _GROUP.fullmatch(group.name)
        if match is None:
            raise InputError(f"{group} is not a group folder: {split_folder} may only hold obj-Y_bg-B_co_occur_obj-C")
        for kind, label in zip(KINDS, match.groups(), strict=True):
            found[kind].append(label)
    labels = {kind: ordered_labels(some, first, f"{split_folder}, {kind}s") for kind, some in found.items()}
    if first or not (folder / MANIFEST).is_file():
        return labels
    record = read_json(folder / MANIFEST)
    try:
        recorded = {kind: (str(record["labels"][kind][0]), str(record["labels"][kind][1])) for kind in KINDS}
    except (LookupError, TypeError):
        raise InputError(f"{folder / MANIFEST} has no labels: restore it, or delete it") from None
    if any(set(recorded[kind]) != set(labels[kind]) for kind in KINDS):
        raise InputError(f"{folder / MANIFEST} has other labels than the folders: restore it, or delete it")
    return recorded


def _images(split_folder: Path, labels: dict[str, tuple[str, str]], correlations: Sequence[float]) -> _Images:
    files: list[Path] = []
    values: dict[str, list[int]] = {kind: [] for kind in KINDS}
    shares = group_shares(correlations)
    for group in product((0, 1), repeat=len(KINDS)):
        if not shares[tuple(int(value == group[0]) for value in group[1:])]:
            continue  # impossible under these correlations
        folder = split_folder / group_name([labels[kind][value] for kind, value in zip(KINDS, group, strict=True)])
        some = sorted(file for file in folder.glob("*.jpg") if not file.name.startswith("."))
        if not some:
            what = "has no .jpg" if folder.is_dir() else "is missing"
            raise InputError(f"{folder} {what}: all eight groups need images")
        for file in some:
            for ending in (MASK, OBJECT_MASK):
                if not (mask := _companion(file, ending)).is_file():
                    raise InputError(f"{mask} is missing: every image needs masks of its target and its co-object")
        files += some
        for kind, value in zip(KINDS, group, strict=True):
            values[kind] += [value] * len(some)
    return _Images(files, values)


def _companion(file: Path, ending: str) -> Path:
    return file.with_name(file.stem + ending)


def _read(files: list[Path], size: int) -> tuple[Pixels, Masks, Masks, Pixels, bool]:
    """Images, masks of target and co-object, backgrounds, and whether complete backgrounds existed."""
    pictures = _pictures(files, size, None)
    images = pictures.images
    wanted = pictures.sizes
    masks, objects = (
        _pictures([_companion(file, ending) for file in files], size, wanted).images[:, 0] >= OPAQUE
        for ending in (MASK, OBJECT_MASK)
    )
    for kind, some in ((TARGET, masks), (OBJECT, objects)):
        if (empty := ~some.any(axis=(1, 2))).any():
            raise InputError(f"{files[int(empty.argmax())]}: the mask of its {kind} is empty at {size} pixels")
    complete = [_companion(file, BACKGROUND_ONLY) for file in files]
    exist = [file.is_file() for file in complete]
    if any(exist) and not all(exist):
        raise InputError(f"{complete[exist.index(False)]} is missing, but others exist: the folder is incomplete")
    hidden = (masks | objects)[:, None]
    if all(exist):
        # Only where hidden; elsewhere the image itself, so that its layers recompose it exactly.
        return images, masks, objects, np.where(hidden, _pictures(complete, size, wanted).images, images), True
    filled = np.stack([filled_in(image, mask[0]) for image, mask in zip(images, hidden, strict=True)])
    return images, masks, objects, filled, False


def _pictures(files: list[Path], size: int, sizes: Numbers | None) -> DecodedPictures:
    pictures = read_pictures(files, size, [str(file.parent) for file in files])
    square = pictures.sizes[0, 0]
    invalid = (pictures.sizes != (square if sizes is None else sizes)).any(axis=1) | (pictures.sizes < size).any(axis=1)
    if invalid.any():
        row = int(invalid.argmax())
        high, wide = pictures.sizes[row].tolist()
        raise InputError(
            f"{files[row]} is {wide}x{high} pixels: images and masks must be squares of the same size, at least {size} pixels"
        )
    return pictures


def filled_in(image: Pixels, hidden: Masks) -> Pixels:
    """Interpolate hidden pixels of an image [3, S, S] linearly along rows; a fully hidden row copies the one above.

    >>> row = np.array([[[10, 0, 0, 40]]], dtype=np.uint8).repeat(3, axis=0)
    >>> filled_in(row, np.array([[False, True, True, False]]))[0].tolist()
    [[10, 20, 30, 40]]
    """
    filled = image.copy()
    cols = np.arange(image.shape[2])
    for row in np.flatnonzero(hidden.any(axis=1)).tolist():
        seen = ~hidden[row]
        if not seen.any():
            filled[:, row] = filled[:, max(row - 1, 0)]
            continue
        for channel in filled:
            channel[row, hidden[row]] = np.rint(np.interp(cols[hidden[row]], cols[seen], channel[row, seen]))
    return filled


def _cut(images: Pixels, masks: Masks) -> CutOuts:
    """Cut the masked pixels out, in the smallest window that holds all masks."""
    rows, cols = (np.flatnonzero(masks.any(axis=axes)) for axes in ((0, 2), (0, 1)))
    window = Window(int(rows[0]), int(cols[0]), int(rows[-1] - rows[0] + 1), int(cols[-1] - cols[0] + 1))
    area = (slice(None), slice(None), *window.area)
    inside = masks[:, None][area]
    pixels = np.concatenate([np.where(inside, images[area], 0), np.where(inside, 255, 0)], axis=1)
    return CutOuts(pixels.astype(np.uint8), window)
