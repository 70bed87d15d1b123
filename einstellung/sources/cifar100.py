"""CIFAR-100 as arrays: decoded once, then mapped from the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError, with_advice
from einstellung.files import digest
from einstellung.sources.cache import Arrays, cached
from einstellung.sources.locations import data_locations, describe_locations
from einstellung.sources.published import CIFAR100, PublishedDataset
from einstellung.sources.reading import content_hash, read_files
from einstellung.sources.stand_ins import assume
from einstellung.sources.unpickling import read_pickle

_SIDE = 32
_TRAIN_PER_CLASS, _TEST_PER_CLASS = 500, 100
_SUPERCLASSES = (
    *("aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables", "household_electrical_devices"),
    *("household_furniture", "insects", "large_carnivores", "large_man-made_outdoor_things"),
    *("large_natural_outdoor_scenes", "large_omnivores_and_herbivores", "medium_mammals", "non-insect_invertebrates"),
    *("people", "reptiles", "small_mammals", "trees", "vehicles_1", "vehicles_2"),
)
_FINE_PER_SUPERCLASS = 5
_LAYOUT = 1  # version of the cached arrays, part of their key


@dataclass(frozen=True)
class LabelledArrays:
    """Images (uint8 [N, 3, 32, 32]) in file order, with their fine and coarse labels."""

    images: npt.NDArray[np.uint8]
    fine: npt.NDArray[np.int64]
    coarse: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cifar100:
    """Training and test images, the names of classes and superclasses by id, and where the files were found."""

    train: LabelledArrays
    test: LabelledArrays
    fine_names: tuple[str, ...]
    coarse_names: tuple[str, ...]
    found: Path

    def superclass_of(self) -> list[int]:
        """The superclass of every fine class, as the training labels pair them."""
        pairs = dict(zip(self.train.fine.tolist(), self.train.coarse.tolist(), strict=True))
        return [pairs[fine] for fine in range(len(self.fine_names))]


def load_cifar100(published: PublishedDataset = CIFAR100) -> Cifar100:
    """The first intact copy in the data locations; without one, a stand-in for a plan, or an error that says what to do."""
    problems = []
    for path in (path for location in data_locations() for path in location.copies(published)):
        try:
            return _load(path, published)
        except InputError as problem:
            problems.append(str(problem))
    otherwise = "or set EINSTELLUNG_DATA to the folder that holds it"
    if problems:
        found = [f"no usable {published.title}: {problem}" for problem in problems]
        raise with_advice([*found[:-1], f"{found[-1]}; searched {describe_locations()}"], published.how_to_get)
    if assume(
        f"{published.title} is not here: {_SIDE}x{_SIDE} noise in its place, with its {len(_SUPERCLASSES)} superclasses of "
        f"{_FINE_PER_SUPERCLASS} classes, each {_TRAIN_PER_CLASS} training and {_TEST_PER_CLASS} test images"
    ):
        return stand_in()
    raise InputError(
        f"{published.title} not found in {describe_locations()}: {published.how_to_get}, {otherwise} "
        f"({published.folder}/ or its .tar.gz, .tar.xz or .zip)"
    )


def stand_in() -> Cifar100:
    """Noise in the shape of CIFAR-100: as many images of as many classes, by the names of their superclasses."""
    superclass = np.repeat(np.arange(len(_SUPERCLASSES)), _FINE_PER_SUPERCLASS)
    draws = np.random.default_rng(0)

    def noise(per_class: int) -> LabelledArrays:
        fine = np.repeat(np.arange(len(superclass)), per_class)
        images = draws.integers(0, 256, (len(fine), 3, _SIDE, _SIDE), dtype=np.uint8)
        return LabelledArrays(images, fine, superclass[fine])

    names = tuple(f"{_SUPERCLASSES[number]}_{fine}" for fine, number in enumerate(superclass))
    return Cifar100(noise(_TRAIN_PER_CLASS), noise(_TEST_PER_CLASS), names, _SUPERCLASSES, Path())


def _load(path: Path, published: PublishedDataset) -> Cifar100:
    # hashed every time, so that arrays made from another file are never used
    key = digest([_LAYOUT, dict(published.md5), content_hash(path, published)], length=32)
    arrays = cached(f"{published.name}-{key}", lambda: _arrays(path, published))
    return Cifar100(
        train=LabelledArrays(arrays["train_images"], arrays["train_fine"], arrays["train_coarse"]),
        test=LabelledArrays(arrays["test_images"], arrays["test_fine"], arrays["test_coarse"]),
        fine_names=tuple(arrays["fine_names"].tolist()),
        coarse_names=tuple(arrays["coarse_names"].tolist()),
        found=path,
    )


def _arrays(path: Path, published: PublishedDataset) -> Arrays:
    files = read_files(path, published)
    meta = read_pickle(files["meta"], f"'meta' in {path}")
    try:
        arrays = {f"{kind}_names": np.array([n.decode() for n in meta[f"{kind}_label_names"]]) for kind in _KINDS}
        for part in ("train", "test"):
            content = read_pickle(files.pop(part), f"'{part}' in {path}")
            arrays[f"{part}_images"] = _images(content)
            for kind in _KINDS:
                arrays[f"{part}_{kind}"] = np.array(content[f"{kind}_labels"], dtype=np.int64)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} does not hold the content of {published.title} ({error!r})") from None
    return arrays


_KINDS = ("fine", "coarse")


def _images(content: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """Rows of 3072 bytes: 1024 red, 1024 green and 1024 blue values in row-major order."""
    pixels = content["data"]
    if pixels.dtype != np.uint8:
        raise TypeError(f"pixels of type {pixels.dtype}")
    return pixels.reshape(len(content["fine_labels"]), 3, _SIDE, _SIDE)  # type: ignore[no-any-return]
