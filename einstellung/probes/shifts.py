r"""Accuracy gaps on ImageNet variants.

- IN-9 Gap (background) = acc(Mixed-Rand) - acc(Mixed-Same): the prediction among all 1000 classes, mapped to 9 by the data
  set's own ``in_to_in9.json``; a prediction outside the nine is wrong (Xiao et al. 2021)
- SIN Gap (texture) = acc(Stylized ImageNet) - acc(IN-1k) (Geirhos et al. 2019)
- IN-R Gap (renditions) = acc(IN-R) - acc(IN-200): logits restricted to ImageNet-R's 200 classes, IN-200 being the IN-1k images
  of these classes (Hendrycks et al. 2021)

Both sides of a gap are restricted to the classes that both have; how many pictures are used and left out is recorded.
All values are fractions. The two sides of a gap are different images, so each is resampled independently.
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
    LabelledFiles,
    from_class_folders,
    from_wnid_folders,
    list_class_folders,
    list_pictures,
    open_picture,
    read_labelled,
)
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.probes.watermark.intervals import LEVEL, RESAMPLES, SEED, gap_interval

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
OnProgress = Callable[[int, int], object]  # pictures done, total
ProgressFor = Callable[[str], OnProgress]  # name of a set of pictures -> its callback

_BATCH = 32
_NINE = 9
MAPPING = "in_to_in9.json"


@dataclass(frozen=True)
class Folders:
    """Folders of the data sets; ``wnids``: class numbers by WordNet id."""

    in9: Path | None = None
    stylized: Path | None = None
    renditions: Path | None = None
    imagenet: Path | None = None
    wnids: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.in9 is None and self.stylized is None and self.renditions is None:
            raise InputError("give at least one of --in9, --stylized and --imagenet-r")
        if self.imagenet is None and (self.stylized is not None or self.renditions is not None):
            raise InputError(
                "--stylized and --imagenet-r are compared with plain ImageNet pictures: give --imagenet too"
            )

    def resolved(self, locate: Callable[[Path], Path]) -> Folders:
        """The same folders, each located by ``locate``."""
        given = (self.in9, self.stylized, self.renditions, self.imagenet)
        in9, stylized, renditions, imagenet = (None if folder is None else locate(folder) for folder in given)
        return Folders(in9, stylized, renditions, imagenet, self.wnids)


def gaps(classifier: Classifier, folders: Folders, progress_for: ProgressFor) -> dict[str, Any]:
    """The record of a classifier: the gap on every data set that was given."""
    if classifier.classes != CLASSES:
        raise InputError(
            f"{classifier.name} has {classifier.classes} classes: these data sets need ImageNet's {CLASSES}"
        )
    found = {}
    if folders.in9 is not None:
        found["in9"] = in9_gap(classifier, folders.in9, progress_for)
    if folders.imagenet is not None:
        if folders.stylized is not None:
            found["stylized"] = stylized_gap(
                classifier, folders.stylized, folders.imagenet, folders.wnids, progress_for
            )
        if folders.renditions is not None:
            found["imagenet_r"] = renditions_gap(
                classifier, folders.renditions, folders.imagenet, folders.wnids, progress_for
            )
    bootstrap = {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL, "over": "images of each side"}
    return {"model": classifier.name, "digest": classifier.digest, "gaps": found, "bootstrap": bootstrap}


def contents(record: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the pictures on both sides of every gap.

    >>> contents({"gaps": {"in9": {"content": "a", "reference_content": "b"}}})
    {'in9': 'a', 'in9, reference': 'b'}
    """
    found: dict[str, str] = {}
    for name, own in record["gaps"].items():
        found |= {name: own["content"], f"{name}, reference": own["reference_content"]}
    return found


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean gap over models.

    >>> average([{"gaps": {"in9": {"gap": -0.1}}}, {"gaps": {"in9": {"gap": -0.3}}}])["gaps"]
    {'in9': -0.2}
    """
    names = records[0]["gaps"]
    gaps = {name: sum(record["gaps"][name]["gap"] for record in records) / len(records) for name in names}
    return {"model": "average", "models": len(records), "gaps": gaps}


def predictions(
    classifier: Classifier, images: LabelledFiles, allowed: Sequence[int] | None, on_progress: OnProgress
) -> Integers:
    """The predicted class of every image, among all classes or the ``allowed`` ones."""
    among = np.arange(classifier.classes) if allowed is None else np.array(sorted(allowed))
    found = np.empty(len(images), dtype=np.int64)
    for start in range(0, len(images), _BATCH):
        part = slice(start, start + _BATCH)
        shown = torch.stack([classifier.prepare(open_picture(file)) for file in images.files[part]])
        found[part] = among[classifier.logits(shown).numpy()[:, among].argmax(1)]
        on_progress(min(start + _BATCH, len(images)), len(images))
    return found


def in9_gap(classifier: Classifier, folder: Path, progress_for: ProgressFor) -> dict[str, Any]:
    """IN-9 Gap; ``folder`` holds mixed_rand, mixed_same (class folders directly or in ``val``) and in_to_in9.json."""
    nine = in9_mapping(folder / MAPPING, classifier.classes)
    sides, correct = [], []
    for variant in ("mixed_rand", "mixed_same"):
        inside = folder / variant / "val"
        folders = list_class_folders(inside if inside.is_dir() else folder / variant)
        if len(folders) != _NINE:
            raise InputError(
                f"{folder / variant} has {len(folders)} folders of pictures: ImageNet-9 has one per class, 9"
            )
        sides.append(from_class_folders({each: number for number, each in enumerate(folders)}))
        correct.append(nine[predictions(classifier, sides[-1], None, progress_for(variant))] == sides[-1].labels)
    return _gap(correct, sides, (0, 0))


def in9_mapping(file: Path, classes: int) -> Integers:
    """The ImageNet-9 class of each ImageNet class; -1 if it has none."""
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
    classifier: Classifier, folder: Path, imagenet: Path, wnids: Mapping[str, int], progress_for: ProgressFor
) -> dict[str, Any]:
    """SIN Gap; ``folder`` holds one folder per class, named by its WordNet id."""
    sides, left_out = with_shared_classes(
        from_wnid_folders(folder, wnids), imagenet_images(imagenet, wnids), folder, imagenet
    )
    correct = [
        predictions(classifier, images, None, progress_for(name)) == images.labels
        for name, images in zip(("stylized", "imagenet"), sides, strict=True)
    ]
    return _gap(correct, sides, left_out)


def renditions_gap(
    classifier: Classifier, folder: Path, imagenet: Path, wnids: Mapping[str, int], progress_for: ProgressFor
) -> dict[str, Any]:
    """IN-R Gap; ``folder`` holds one folder per class, named by its WordNet id. Predictions are among these classes."""
    renditions = from_wnid_folders(folder, wnids)
    allowed = sorted(set(renditions.labels.tolist()))
    sides, left_out = with_shared_classes(renditions, imagenet_images(imagenet, wnids), folder, imagenet)
    correct = [
        predictions(classifier, images, allowed, progress_for(name)) == images.labels
        for name, images in zip(("imagenet-r", "imagenet"), sides, strict=True)
    ]
    return _gap(correct, sides, left_out) | {"chosen_from": len(allowed)}


def imagenet_images(folder: Path, wnids: Mapping[str, int]) -> LabelledFiles:
    """ImageNet's pictures: files with a class number at the start of their names, or folders named by WordNet ids."""
    return read_labelled(folder) if list_pictures(folder) else from_wnid_folders(folder, wnids)


def with_shared_classes(
    shifted: LabelledFiles, reference: LabelledFiles, folder: Path, imagenet: Path
) -> tuple[tuple[LabelledFiles, LabelledFiles], tuple[int, int]]:
    """Both sides restricted to the classes that both have, and how many pictures of each that leaves out."""
    shared = np.intersect1d(shifted.labels, reference.labels)
    if not len(shared):
        raise InputError(f"{imagenet} has no picture of any class in {folder}: nothing to compare")
    first, second = (side.take(np.flatnonzero(np.isin(side.labels, shared))) for side in (shifted, reference))
    return (first, second), (len(shifted) - len(first), len(reference) - len(second))


def _gap(correct: Sequence[Flags], sides: Sequence[LabelledFiles], left_out: tuple[int, int]) -> dict[str, Any]:
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
