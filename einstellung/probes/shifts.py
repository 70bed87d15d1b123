r"""Gaps on other variants of ImageNet, for whoever has their folders.

- IN-9 Gap (background) = acc(Mixed-Rand) - acc(Mixed-Same): the prediction among all 1000 classes, mapped to 9 by the data
  set's own ``in_to_in9.json``; a prediction outside the nine is wrong (Xiao et al. 2021)
- SIN Gap (texture) = acc(Stylized ImageNet) - acc(IN-1k) (Geirhos et al. 2019)
- IN-R Gap (renditions) = acc(IN-R) - acc(IN-200): logits restricted to ImageNet-R's 200 classes, IN-200 being the IN-1k images
  of these classes (Hendrycks et al. 2021)

Both sides of a gap are pictures of the classes that both have; how many that leaves, and how many it leaves out, is recorded.
All are fractions. The two sides of a gap are different images, so each is resampled for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import (
    CLASSES,
    Labelled,
    by_wnid,
    class_folders,
    in_folders,
    labelled,
    opened,
    pictures_in,
)
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.probes.watermark.intervals import LEVEL, RESAMPLES, SEED, gap_interval

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Listening = Callable[[str], Callable[[int, int], object]]  # what is looked at -> who hears how much of it is done

_BATCH = 32
_NINE = 9
MAPPING = "in_to_in9.json"


@dataclass(frozen=True)
class Folders:
    """Where the data sets lie; ``wnids``: the numbers of classes by WordNet id."""

    in9: Path | None = None
    stylized: Path | None = None
    renditions: Path | None = None
    imagenet: Path | None = None
    wnids: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.in9 is None and self.stylized is None and self.renditions is None:
            raise InputError("give at least one of --in9, --stylized and --imagenet-r")
        if self.imagenet is None and (self.stylized is not None or self.renditions is not None):
            raise InputError("--stylized and --imagenet-r are compared with plain pictures: give them with --imagenet")

    def found(self, find: Callable[[Path], Path]) -> Folders:
        """The same, every folder where ``find`` finds it."""
        named = (self.in9, self.stylized, self.renditions, self.imagenet)
        in9, stylized, renditions, imagenet = (None if folder is None else find(folder) for folder in named)
        return Folders(in9, stylized, renditions, imagenet, self.wnids)


def gaps(classifier: Classifier, folders: Folders, listening: Listening) -> dict[str, Any]:
    """The record of a classifier: the gap of every data set that is there."""
    if classifier.classes != CLASSES:
        raise InputError(
            f"{classifier.name} has {classifier.classes} classes: these data sets ask about ImageNet's {CLASSES}"
        )
    found = {}
    if folders.in9 is not None:
        found["in9"] = in9_gap(classifier, folders.in9, listening)
    if folders.imagenet is not None:
        if folders.stylized is not None:
            found["stylized"] = stylized_gap(classifier, folders.stylized, folders.imagenet, folders.wnids, listening)
        if folders.renditions is not None:
            found["imagenet_r"] = renditions_gap(
                classifier, folders.renditions, folders.imagenet, folders.wnids, listening
            )
    bootstrap = {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL, "over": "images of each side"}
    return {"model": classifier.name, "digest": classifier.digest, "gaps": found, "bootstrap": bootstrap}


def contents(record: Mapping[str, Any]) -> dict[str, str]:
    """The digest of the pictures on both sides of every gap.

    >>> contents({"gaps": {"in9": {"content": "a", "reference_content": "b"}}})
    {'in9': 'a', 'in9, reference': 'b'}
    """
    found: dict[str, str] = {}
    for name, own in record["gaps"].items():
        found |= {name: own["content"], f"{name}, reference": own["reference_content"]}
    return found


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean gap over models.

    >>> average([{"gaps": {"in9": {"gap": -0.1}}}, {"gaps": {"in9": {"gap": -0.3}}}])["gaps"]
    {'in9': -0.2}
    """
    names = records[0]["gaps"]
    gaps = {name: sum(record["gaps"][name]["gap"] for record in records) / len(records) for name in names}
    return {"model": "average", "models": len(records), "gaps": gaps}


def predictions(
    classifier: Classifier, images: Labelled, allowed: Sequence[int] | None, heard: Callable[[int, int], object]
) -> Integers:
    """The most likely class of every image, among all or among the ``allowed`` ones."""
    among = np.arange(classifier.classes) if allowed is None else np.array(sorted(allowed))
    found = np.empty(len(images), dtype=np.int64)
    for start in range(0, len(images), _BATCH):
        part = slice(start, start + _BATCH)
        shown = torch.stack([classifier.prepare(opened(file)) for file in images.files[part]])
        found[part] = among[classifier.logits(shown).numpy()[:, among].argmax(1)]
        heard(min(start + _BATCH, len(images)), len(images))
    return found


def in9_gap(classifier: Classifier, folder: Path, listening: Listening) -> dict[str, Any]:
    """``folder`` holds mixed_rand, mixed_same (their classes in ``val`` or directly) and in_to_in9.json."""
    nine = in9_mapping(folder / MAPPING, classifier.classes)
    sides, correct = [], []
    for variant in ("mixed_rand", "mixed_same"):
        inside = folder / variant / "val"
        folders = class_folders(inside if inside.is_dir() else folder / variant)
        if len(folders) != _NINE:
            raise InputError(
                f"{folder / variant} has {len(folders)} folders of pictures: ImageNet-9 has one per class, 9"
            )
        sides.append(in_folders({each: number for number, each in enumerate(folders)}))
        correct.append(nine[predictions(classifier, sides[-1], None, listening(variant))] == sides[-1].labels)
    return _gap(correct, sides, (0, 0))


def in9_mapping(file: Path, classes: int) -> Integers:
    """The class among nine of each of the 1000, -1 where there is none."""
    table = read_json(file)
    mapping = np.full(classes, -1, dtype=np.int64)
    try:
        for index, nine in table.items():
            mapping[int(index)] = int(nine)
    except (AttributeError, ValueError, TypeError, LookupError) as error:
        raise InputError(f'{file} is not a table {{"0": -1, ..., "151": 0, ...}} of classes ({error})') from None
    if not set(mapping.tolist()) <= set(range(-1, _NINE)):
        raise InputError(f"{file}: a class of ImageNet-9 is a number from 0 to 8, or -1")
    return mapping


def stylized_gap(
    classifier: Classifier, folder: Path, imagenet: Path, wnids: Mapping[str, int], listening: Listening
) -> dict[str, Any]:
    """``folder``: one folder per class, named by its WordNet id."""
    sides, left_out = in_common(by_wnid(folder, wnids), imagenet_images(imagenet, wnids), folder, imagenet)
    correct = [
        predictions(classifier, images, None, listening(name)) == images.labels
        for name, images in zip(("stylized", "imagenet"), sides, strict=True)
    ]
    return _gap(correct, sides, left_out)


def renditions_gap(
    classifier: Classifier, folder: Path, imagenet: Path, wnids: Mapping[str, int], listening: Listening
) -> dict[str, Any]:
    """``folder``: ImageNet-R, one folder per class, named by its WordNet id; these are the classes to choose from."""
    renditions = by_wnid(folder, wnids)
    allowed = sorted(set(renditions.labels.tolist()))
    sides, left_out = in_common(renditions, imagenet_images(imagenet, wnids), folder, imagenet)
    correct = [
        predictions(classifier, images, allowed, listening(name)) == images.labels
        for name, images in zip(("imagenet-r", "imagenet"), sides, strict=True)
    ]
    return _gap(correct, sides, left_out) | {"chosen_from": len(allowed)}


def imagenet_images(folder: Path, wnids: Mapping[str, int]) -> Labelled:
    """Files with a number at the start of their names, or folders named by WordNet ids."""
    return labelled(folder) if pictures_in(folder) else by_wnid(folder, wnids)


def in_common(
    shifted: Labelled, reference: Labelled, folder: Path, imagenet: Path
) -> tuple[tuple[Labelled, Labelled], tuple[int, int]]:
    """Both sides without the classes that only one of them has, and how many pictures that leaves out of each."""
    shared = np.intersect1d(shifted.labels, reference.labels)
    if not len(shared):
        raise InputError(f"{imagenet} has no picture of any class in {folder}: there is nothing to compare it with")
    first, second = (side.only(np.flatnonzero(np.isin(side.labels, shared))) for side in (shifted, reference))
    return (first, second), (len(shifted) - len(first), len(reference) - len(second))


def _gap(correct: Sequence[Flags], sides: Sequence[Labelled], left_out: tuple[int, int]) -> dict[str, Any]:
    shifted, reference = correct
    return {
        "classes": len(set(sides[0].labels.tolist())),
        "acc": float(shifted.mean()),
        "n": len(shifted),
        "reference_acc": float(reference.mean()),
        "reference_n": len(reference),
        "gap": float(shifted.mean() - reference.mean()),
        "interval": gap_interval(shifted, reference),
        "left_out": left_out[0],
        "reference_left_out": left_out[1],
        "content": sides[0].digest,
        "reference_content": sides[1].digest,
    }
