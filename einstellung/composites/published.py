"""Finished composites in the folders of UrbanCars' authors.

``bg-R_co_occur_obj-R/SPLIT/obj-Y_bg-B_co_occur_obj-C/NNN.jpg``, with ``NNN_mask.png`` (where the target is) and
``NNN_co_occur_obj_mask.png`` beside it: training images under their correlations, validation and test under those of a balanced
set (0.5) or under the same. ``NNN_bg_only.png``, where the authors' program was told to write it, is the whole background;
where it is not there, what lies behind target and co-object is filled in between the pixels left and right of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from einstellung.composites.geometry import OPAQUE, Window, check_size
from einstellung.composites.groups import group_shares
from einstellung.composites.layers import CutOuts, Layers, Masks
from einstellung.composites.lots import Lot, Numbers, Parts
from einstellung.composites.making import Composites
from einstellung.composites.sources import KINDS, OBJECT, TARGET, Pixels, check_first, ordered_labels
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.sources.pictures import DecodedPictures, read_pictures

MADE = "made.json"
MASK, OBJECT_MASK, ONLY = "_mask.png", "_co_occur_obj_mask.png", "_bg_only.png"
_GROUP = re.compile(r"obj-(.+)_bg-(.+)_co_occur_obj-(.+)")
_BALANCED = (0.5, 0.5)


@dataclass(frozen=True)
class _Images:
    """The images of a lot with their labels and values, in the order of their names."""

    files: list[Path]
    labels: dict[str, list[int]]


def case_name(correlations: Sequence[float]) -> str:
    """The folder of a pair of correlations.

    >>> case_name((0.95, 0.95))
    'bg-0.95_co_occur_obj-0.95'
    """
    background, co_object = map(float, correlations)
    return f"bg-{background}_co_occur_obj-{co_object}"


def group_name(labels: Sequence[str]) -> str:
    """The folder of a group, by the labels of target, background and co-object.

    >>> group_name(("urban", "country", "urban"))
    'obj-urban_bg-country_co_occur_obj-urban'
    """
    return "obj-{}_bg-{}_co_occur_obj-{}".format(*labels)


def is_published(folder: Path) -> bool:
    """Whether a folder holds finished composites, or is one of the folders with them, rather than of sources."""
    cases = "bg-*_co_occur_obj-*"
    return folder.is_dir() and (folder.match(cases) or any(folder.glob(cases)))


def read_published(
    folder: Path, phases: tuple[tuple[float, ...], ...], size: int, first: Sequence[str] = ()
) -> Composites:
    """The training images of every phase, validation and test; averaged down to ``size`` pixels."""
    check_size(size)
    if any(len(phase) != 2 for phase in phases):
        raise InputError(f"{folder} holds composites with two cues: give two correlations for every phase")
    if len(set(phases)) < len(phases):
        raise InputError(f"phases have the same correlations twice, but {folder} holds each once: read other ones")
    places = {f"T{number + 1}": _case(folder, "train", [phase]) for number, phase in enumerate(phases)}
    places |= {split: _case(folder, split, [_BALANCED, *phases]) for split in ("val", "test")}
    labels = _labels(folder, places["test"], first)
    check_first(first, labels)
    correlations = {f"T{number + 1}": phase for number, phase in enumerate(phases)}
    found = {name: _images(place, labels, correlations.get(name, _BALANCED)) for name, place in places.items()}
    images, masks, objects, backgrounds, whole = _read([file for some in found.values() for file in some.files], size)
    lots, start = [], 0
    for name, some in found.items():
        rows = np.arange(start, start + len(some.files), dtype=np.int64)
        start += len(rows)
        lots.append(Lot(name, np.array(some.labels[TARGET]), Parts(rows, rows, rows, np.zeros_like(rows))))
    values = {kind: np.array([value for some in found.values() for value in some.labels[kind]]) for kind in KINDS}
    names = [
        f"{file.parent.parent.name}/{file.parent.name}/{file.name}" for one in found.values() for file in one.files
    ]
    layers = Layers(
        size,
        _cut(images, masks),
        backgrounds,
        _cut(images, objects & ~masks),
        values,
        dict.fromkeys(KINDS, tuple(names)),
    )
    behind = "whole backgrounds beside them" if whole else "what lies behind the objects filled in from the sides"
    words = f"finished composites read from a folder, {behind}; whether two images share a source cannot be told"
    return Composites(tuple(lots), layers, phases, labels, words, sources_known=False)


def _case(folder: Path, split: str, choices: Sequence[Sequence[float]]) -> Path:
    names = list(dict.fromkeys(case_name(choice) for choice in choices))
    for name in names:
        if (folder / name / split).is_dir():
            return folder / name / split
    there = ", ".join(sorted(one.name for one in folder.glob("bg-*_co_occur_obj-*"))[:5]) or "nothing of the kind"
    wanted = " or ".join(f"{name}/{split}" for name in names)
    raise InputError(f"{folder} lacks {wanted}; there is {there}: give the folder above, and the phases' correlations")


def _labels(folder: Path, place: Path, first: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The labels of each kind; where the folder was made here, in the order that they were given then."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for group in sorted(one for one in place.iterdir() if one.is_dir() and not one.name.startswith(".")):
        match = _GROUP.fullmatch(group.name)
        if match is None:
            raise InputError(f"{group} is no folder of a group: only obj-Y_bg-B_co_occur_obj-C may stand in {place}")
        for kind, label in zip(KINDS, match.groups(), strict=True):
            found[kind].append(label)
    labels = {kind: ordered_labels(some, first, f"{place}, {kind}s") for kind, some in found.items()}
    if first or not (folder / MADE).is_file():
        return labels
    record = read_json(folder / MADE)
    try:
        told = {kind: (str(record["labels"][kind][0]), str(record["labels"][kind][1])) for kind in KINDS}
    except (LookupError, TypeError):
        raise InputError(f"{folder / MADE} tells no labels: restore it, or take it away") from None
    if any(set(told[kind]) != set(labels[kind]) for kind in KINDS):
        raise InputError(f"{folder / MADE} tells of other labels than the folders have: restore it, or take it away")
    return told


def _images(place: Path, labels: dict[str, tuple[str, str]], correlations: Sequence[float]) -> _Images:
    files: list[Path] = []
    values: dict[str, list[int]] = {kind: [] for kind in KINDS}
    shares = group_shares(correlations)
    for group in product((0, 1), repeat=len(KINDS)):
        if not shares[tuple(int(value == group[0]) for value in group[1:])]:
            continue  # no image of this group is in such a set
        folder = place / group_name([labels[kind][value] for kind, value in zip(KINDS, group, strict=True)])
        some = sorted(file for file in folder.glob("*.jpg") if not file.name.startswith("."))
        if not some:
            what = "holds no .jpg" if folder.is_dir() else "is missing"
            raise InputError(f"{folder} {what}: every one of the eight groups needs images")
        for file in some:
            for ending in (MASK, OBJECT_MASK):
                if not (mask := _beside(file, ending)).is_file():
                    raise InputError(f"{mask} is missing: every image needs the masks of its target and its co-object")
        files += some
        for kind, value in zip(KINDS, group, strict=True):
            values[kind] += [value] * len(some)
    return _Images(files, values)


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.stem + ending)


def _read(files: list[Path], size: int) -> tuple[Pixels, Masks, Masks, Pixels, bool]:
    """Images, masks of target and co-object, backgrounds, and whether these were there as a whole."""
    pictures = _pictures(files, size, None)
    images = pictures.images
    wanted = pictures.sizes
    masks, objects = (
        _pictures([_beside(file, ending) for file in files], size, wanted).images[:, 0] >= OPAQUE
        for ending in (MASK, OBJECT_MASK)
    )
    for kind, some in ((TARGET, masks), (OBJECT, objects)):
        if (empty := ~some.any(axis=(1, 2))).any():
            raise InputError(f"{files[int(empty.argmax())]}: the mask of its {kind} is empty at {size} pixels")
    whole = [_beside(file, ONLY) for file in files]
    are_there = [file.is_file() for file in whole]
    if any(are_there) and not all(are_there):
        raise InputError(
            f"{whole[are_there.index(False)]} is missing, though others are there: the folder is not whole"
        )
    hidden = (masks | objects)[:, None]
    if all(are_there):
        # Only what is hidden: elsewhere the image itself, so that its layers give it back to the last bit.
        return images, masks, objects, np.where(hidden, _pictures(whole, size, wanted).images, images), True
    filled = np.stack([filled_in(image, mask[0]) for image, mask in zip(images, hidden, strict=True)])
    return images, masks, objects, filled, False


def _pictures(files: list[Path], size: int, sizes: Numbers | None) -> DecodedPictures:
    pictures = read_pictures(files, size, [str(file.parent) for file in files])
    square = pictures.sizes[0, 0]
    amiss = (pictures.sizes != (square if sizes is None else sizes)).any(axis=1) | (pictures.sizes < size).any(axis=1)
    if amiss.any():
        row = int(amiss.argmax())
        high, wide = pictures.sizes[row].tolist()
        raise InputError(
            f"{files[row]} is {wide}x{high} pixels: images and masks are squares of one size, {size} pixels or more"
        )
    return pictures


def filled_in(image: Pixels, hidden: Masks) -> Pixels:
    """Hidden pixels of an image [3, S, S] as a straight line between their neighbours in the row; a hidden row like those above.

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
    """What the masks show, in the smallest window that holds all of them."""
    rows, cols = (np.flatnonzero(masks.any(axis=axes)) for axes in ((0, 2), (0, 1)))
    window = Window(int(rows[0]), int(cols[0]), int(rows[-1] - rows[0] + 1), int(cols[-1] - cols[0] + 1))
    area = (slice(None), slice(None), *window.area)
    inside = masks[:, None][area]
    pixels = np.concatenate([np.where(inside, images[area], 0), np.where(inside, 255, 0)], axis=1)
    return CutOuts(pixels.astype(np.uint8), window)
