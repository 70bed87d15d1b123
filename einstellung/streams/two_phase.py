"""The two-phase protocol over any labelled images with superclasses: T1 without a cue, T2 with one on its shortcut classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.cues import cover
from einstellung.cues.patch import Cue
from einstellung.errors import InputError
from einstellung.randomness import uniform_by_index
from einstellung.streams.stream import EvaluationSplit, ImageSet, MaskedPair, Phase, Stream

_BEARERS, _VALIDATION = 4, 5  # salts: who bears the cue and who is held out are independent of where the cue stands


@dataclass(frozen=True)
class LabelledImages:
    """A source as it comes: images, fine labels, and their position in the source as identity."""

    images: Tensor
    fine: Tensor

    def of(self, fine_classes: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Images, fine labels and identities of the given classes, in the source's order."""
        rows = torch.isin(self.fine, torch.tensor(list(fine_classes))).nonzero().flatten()
        return self.images[rows], self.fine[rows], rows


@dataclass(frozen=True)
class Split:
    """Which superclasses belong to T1, T2 and (within T2) the shortcut classes, and what share of T2 is held out."""

    t1: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 7)
    t2: tuple[int, ...] = (8, 9, 10, 11)
    shortcut: tuple[int, ...] = (8, 9)
    validation: float = 0.1


def two_phase(
    name: str,
    train: LabelledImages,
    test: LabelledImages,
    superclass_of: Sequence[int],
    fine_names: Sequence[str],
    split: Split,
    cue: Cue,
    cover_name: str,
    mean: tuple[float, float, float],
    std: tuple[float, float, float],
    *,
    crop_padding: int = 4,
    facts: dict[str, object] | None = None,
    duplicates_allowed: int = 0,
) -> Stream:
    """Build the stream: fine labels remapped to 0..K-1, T1 first, one head over all of them."""
    _check(split, set(superclass_of))
    fine_of = {part: [f for f, s in enumerate(superclass_of) if s in supers] for part, supers in _parts(split).items()}
    order = [*fine_of["T1"], *fine_of["SC"], *fine_of["NSC"]]
    head = torch.full((len(superclass_of),), -1)
    head[torch.tensor(order)] = torch.arange(len(order))

    def images_of(source: LabelledImages, part: str) -> ImageSet:
        images, fine, index = source.of(fine_of[part])
        return ImageSet.without_cue(images, head[fine], index)

    labels = {part: tuple(int(head[f]) for f in fine_of[part]) for part in fine_of}
    t2_all = images_of(train, "T2")
    held_out = exact_share(t2_all.index, t2_all.labels, split.validation, _VALIDATION)
    t2_train, t2_val = (
        with_bearers(t2_all.take(rows.nonzero().flatten()), labels["SC"], cue.share) for rows in (~held_out, held_out)
    )
    phases = (
        Phase("T1", labels["T1"], (), images_of(train, "T1")),
        Phase("T2", labels["T2"], labels["SC"], t2_train),
    )
    return Stream(
        name=name,
        phases=phases,
        splits=_splits(images_of(test, "T1"), images_of(test, "SC"), images_of(test, "NSC"), t2_val, cue, cover_name),
        pairs=(
            MaskedPair("T2_shortcut_clean", "T2_shortcut_normal", "T2_shortcut_masked"),
            MaskedPair("T2_nonshortcut_normal", "T2_nonshortcut_patched"),
        ),
        cue=cue,
        cover=cover_name,
        n_outputs=len(order),
        class_names=tuple(fine_names[f] for f in order),
        mean=mean,
        std=std,
        crop_padding=crop_padding,
        duplicates_allowed=duplicates_allowed,
        facts=facts or {},
    )


def exact_share(index: Tensor, labels: Tensor, share: float, salt: int) -> Tensor:
    """A bool per image: exactly round(share x class size) of every class, chosen by the images' identities.

    >>> labels = torch.tensor([0] * 10 + [1] * 20)
    >>> chosen = exact_share(torch.arange(30), labels, 0.5, salt=0)
    >>> int(chosen[:10].sum()), int(chosen[10:].sum())
    (5, 10)
    """
    chosen = torch.zeros(len(index), dtype=torch.bool)
    lot = uniform_by_index(index, salt)
    for label in labels.unique():
        rows = (labels == label).nonzero().flatten()
        count = int(share * len(rows) + 0.5)
        chosen[rows[lot[rows].argsort(stable=True)[:count]]] = True
    return chosen


def with_bearers(images: ImageSet, cue_classes: Sequence[int], share: float) -> ImageSet:
    """The same images, with the exact share of every cue class marked as bearing the cue."""
    in_cue_class = torch.isin(images.labels, torch.tensor(list(cue_classes), dtype=torch.long))
    bears = in_cue_class & exact_share(images.index, images.labels, share, _BEARERS)
    return ImageSet(images.images, images.labels, images.index, bears)


def _splits(
    t1: ImageSet, sc: ImageSet, nsc: ImageSet, val: ImageSet, cue: Cue, cover_name: str
) -> tuple[EvaluationSplit, ...]:
    def painted(images: ImageSet) -> ImageSet:
        return ImageSet(cue.paint(images.images, images.index), images.labels, images.index, images.bears | True)

    def masked(images: ImageSet) -> ImageSet:
        region = cue.region(images.index, *images.images.shape[-2:])
        covered = cover(cover_name, painted(images).images, region, images.index)
        return ImageSet(covered, images.labels, images.index, images.bears)

    val_pixels = val.images.clone()
    if bool(val.bears.any()):
        val_pixels[val.bears] = cue.paint(val.images[val.bears], val.index[val.bears])
    return (
        EvaluationSplit("T1_all", "T1", t1),
        EvaluationSplit("T2_shortcut_normal", "T2", painted(sc)),
        EvaluationSplit("T2_shortcut_masked", "T2", masked(sc)),
        EvaluationSplit("T2_nonshortcut_normal", "T2", nsc),
        EvaluationSplit("T2_val", "T2", ImageSet(val_pixels, val.labels, val.index, val.bears), held_out=True),
        EvaluationSplit("T2_shortcut_clean", "T2", sc),
        EvaluationSplit("T2_nonshortcut_patched", "T2", painted(nsc)),
    )


def _parts(split: Split) -> dict[str, tuple[int, ...]]:
    nonshortcut = tuple(s for s in split.t2 if s not in split.shortcut)
    return {"T1": split.t1, "T2": split.t2, "SC": split.shortcut, "NSC": nonshortcut}


def _check(split: Split, known: set[int]) -> None:
    for key, value in (("t1", split.t1), ("t2", split.t2), ("shortcut", split.shortcut)):
        unknown = sorted(set(value) - known)
        if unknown or not value:
            raise InputError(f"stream.{key} is {list(value)}: give superclasses from {min(known)} to {max(known)}")
    if both := sorted(set(split.t1) & set(split.t2)):
        raise InputError(f"superclasses {both} are in stream.t1 and in stream.t2: a phase must not share a class")
    if outside := sorted(set(split.shortcut) - set(split.t2)):
        raise InputError(f"stream.shortcut names superclasses {outside} that are not in stream.t2")
    if set(split.shortcut) == set(split.t2):
        raise InputError("stream.shortcut holds all of stream.t2: leave some superclasses without the cue")
    if not 0 < split.validation < 1:
        raise InputError(f"stream.validation is {split.validation}: it must lie between 0 and 1")
