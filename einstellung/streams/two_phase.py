"""The two-phase protocol on labelled images with superclasses: T1 without a cue, T2 with one on its shortcut classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.modalities import IMAGES, Modality
from einstellung.streams.duplicates import Duplicates, deduplicated_phases
from einstellung.streams.planted import HELD_OUT, HeadClasses, TwoPhaseImages, exact_share, planted_stream
from einstellung.streams.stream import ImageSet, Stream

_TEST_SPLITS = {
    "T1": "T1_all",
    "SC": "T2_shortcut",
    "NSC": "T2_nonshortcut",
}  # part -> name of its test images in the facts

Labels = Literal["fine", "superclass"]


@dataclass(frozen=True)
class LabelledImages:
    """The images of a source with their fine labels; an image's index is its position."""

    images: Tensor
    fine: Tensor

    def rows(self, fine_classes: Sequence[int], per_class: int | None = None) -> Tensor:
        """Positions of the given classes' images in source order; of each class all, or the first ``per_class``."""
        wanted = torch.isin(self.fine, torch.tensor(list(fine_classes)))
        if per_class is not None:
            for fine in fine_classes:
                wanted[(self.fine == fine).nonzero().flatten()[per_class:]] = False
        return wanted.nonzero().flatten()


@dataclass(frozen=True)
class Split:
    """The superclasses of T1, T2 and (within T2) of the shortcut classes, and the share of T2 held out for validation.

    ``labels``: whether the head predicts fine classes or superclasses. All images of a fine class are used, or the first
    ``train_per_class`` and ``test_per_class``; the held-out share is exact per fine class.
    """

    t1: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    t2: tuple[int, ...] = (8, 9, 10, 11)
    shortcut: tuple[int, ...] = (8, 9)
    validation: float = 0.1
    labels: Labels = "fine"
    train_per_class: int | None = None
    test_per_class: int | None = None


def changed_from_default(split: Split) -> list[str]:
    """The options of the two phases that differ from their defaults."""
    return [key for key in ("t1", "t2", "shortcut") if getattr(split, key) != getattr(Split(), key)]


@dataclass(frozen=True)
class Taxonomy:
    """The fine classes of a source and their superclasses: the superclass of every fine class, and the names of both."""

    superclass_of: Sequence[int]
    fine_names: Sequence[str]
    superclass_names: Sequence[str]


def two_phase(
    name: str,
    *,
    train: LabelledImages,
    test: LabelledImages,
    taxonomy: Taxonomy,
    split: Split,
    cue: Cue,
    cover: str,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    crop_padding: int = 4,
    flip: bool = True,
    uneven_classes: bool = False,
    facts: dict[str, object] | None = None,
    duplicates: Duplicates | None = None,
    modality: Modality = IMAGES,
) -> Stream:
    """Build the stream: one head over all classes, labels 0..K-1 with T1 first, then the cue's classes, then the others."""
    superclass_of, superclass_names = taxonomy.superclass_of, taxonomy.superclass_names
    _check(split, set(superclass_of))
    fine_of = {part: [f for f, s in enumerate(superclass_of) if s in supers] for part, supers in _parts(split).items()}
    head, class_names = _head(split, fine_of, taxonomy)
    classes = {part: tuple(sorted({int(head[f]) for f in fine_of[part]})) for part in fine_of}

    def images_of(source: LabelledImages, part: str, per_class: int | None) -> ImageSet:
        rows = source.rows(fine_of[part], per_class)
        return ImageSet.without_cue(source.images[rows], head[source.fine[rows]], rows)

    t1_train, t2_all = (images_of(train, part, split.train_per_class) for part in ("T1", "T2"))
    held_out = exact_share(t2_all.index, train.fine[t2_all.index], split.validation, HELD_OUT)
    _check_held_out(train.fine[t2_all.index], held_out, split.validation)
    t2_train, t2_val = (t2_all.take(rows.nonzero().flatten()) for rows in (~held_out, held_out))
    tests = {title: images_of(test, part, split.test_per_class) for part, title in _TEST_SPLITS.items()}
    sets = deduplicated_phases(duplicates or Duplicates(), {"T1": t1_train, "T2": t2_train}, {"T2": t2_val}, tests)
    all_facts = {
        **(facts or {}),
        "labels": split.labels,
        "superclasses": {part: [superclass_names[s] for s in sorted(set(ids))] for part, ids in _parts(split).items()},
    }
    if duplicates is not None:
        all_facts["duplicates"] = sets.describe()
    return planted_stream(
        name,
        TwoPhaseImages(
            t1_train, sets.train["T2"], sets.val["T2"], *(sets.test[title] for title in _TEST_SPLITS.values())
        ),
        HeadClasses(classes["T1"], classes["SC"], classes["NSC"], class_names),
        cue,
        cover,
        all_facts,
        mean=mean,
        std=std,
        crop_padding=crop_padding,
        flip=flip,
        uneven_classes=uneven_classes,
        duplicates_allowed=sets.allowed,
        phase_duplicates_allowed=0 if sets.dropped else sets.between_phases,
        left_out=sets.left_out,
        modality=modality,
    )


def _check_held_out(fine: Tensor, held_out: Tensor, validation: float) -> None:
    for label in fine.unique():
        own = held_out[fine == label]
        if own.all():
            raise InputError(
                f"stream.validation {validation:g} holds out all {len(own)} training images of a class of T2: choose a smaller "
                "share, or more images"
            )


def _head(split: Split, fine_of: Mapping[str, Sequence[int]], taxonomy: Taxonomy) -> tuple[Tensor, tuple[str, ...]]:
    """The head's label of every fine class (-1: not in the stream), and the names of its outputs."""
    superclass_of, fine_names, superclass_names = taxonomy.superclass_of, taxonomy.fine_names, taxonomy.superclass_names
    fine_ids = [fine for part in ("T1", "SC", "NSC") for fine in fine_of[part]]
    if split.labels == "fine":
        groups, names = [[fine] for fine in fine_ids], [fine_names[fine] for fine in fine_ids]
    else:
        parts = _parts(split)
        supers = [one for part in ("T1", "SC", "NSC") for one in sorted(set(parts[part]))]
        groups = [[fine for fine in fine_ids if superclass_of[fine] == one] for one in supers]
        names = [superclass_names[one] for one in supers]
    head = torch.full((len(superclass_of),), -1)
    for label, group in enumerate(groups):
        head[group] = label
    return head, tuple(names)


def _parts(split: Split) -> dict[str, tuple[int, ...]]:
    nonshortcut = tuple(s for s in split.t2 if s not in split.shortcut)
    return {"T1": split.t1, "T2": split.t2, "SC": split.shortcut, "NSC": nonshortcut}


def _check(split: Split, known: set[int]) -> None:
    for key, value in (("t1", split.t1), ("t2", split.t2), ("shortcut", split.shortcut)):
        unknown = sorted(set(value) - known)
        if unknown or not value:
            raise InputError(f"stream.{key} is {list(value)}: give superclasses from {min(known)} to {max(known)}")
    if both := sorted(set(split.t1) & set(split.t2)):
        raise InputError(f"superclasses {both} are in stream.t1 and in stream.t2: phases must not share a class")
    if outside := sorted(set(split.shortcut) - set(split.t2)):
        raise InputError(f"stream.shortcut names superclasses {outside} that are not in stream.t2")
    if set(split.shortcut) == set(split.t2):
        raise InputError("stream.shortcut holds all of stream.t2: leave some superclasses without the cue")
    if not 0 < split.validation < 1:
        raise InputError(f"stream.validation is {split.validation}: it must lie between 0 and 1")
