"""Plant a cue in two phases of images: which images get it, and the splits that show the same images with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from einstellung.cues import Cue, cover
from einstellung.errors import InputError
from einstellung.randomness import uniform_by_index
from einstellung.streams.stream import EvaluationSplit, Habit, ImageSet, MaskedPair, Phase, Stream, TogglePlantedCue

_CUE_SALT, HELD_OUT = 4, 5  # salts: which images get the cue and which are held out do not depend on where the cue is


@dataclass(frozen=True)
class TwoPhaseImages:
    """The images of both phases before the cue is planted; SC are the test images of the classes that will get it."""

    t1_train: ImageSet
    t2_train: ImageSet
    t2_val: ImageSet
    t1_test: ImageSet
    sc_test: ImageSet
    nsc_test: ImageSet


@dataclass(frozen=True)
class HeadClasses:
    """Head labels of T1, of T2's cue classes (SC) and of its other classes (NSC), and all names in the head's order."""

    t1: tuple[int, ...]
    sc: tuple[int, ...]
    nsc: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def t2(self) -> tuple[int, ...]:
        return tuple(sorted({*self.sc, *self.nsc}))


def planted_stream(
    name: str,
    images: TwoPhaseImages,
    classes: HeadClasses,
    cue: Cue,
    cover_name: str,
    facts: Mapping[str, object],
    **settings: Any,
) -> Stream:
    """The stream with the cue on its share of T2's cue classes; ``settings`` are the other fields of a Stream."""
    shares = shares_of_classes(cue, classes)
    habit = habit_of(cue, classes)
    t1_train, t2_train, t2_val = (with_cue(part, shares) for part in (images.t1_train, images.t2_train, images.t2_val))
    splits = _splits(images, t2_val, cue, cover_name, habit)
    elsewhere = next((split.name for split in splits if split.name == "T2_shortcut_elsewhere"), None)
    all_facts = dict(facts)
    if elsewhere is None:
        all_facts["cue_elsewhere"] = "not measured: a cue of this size cannot be displaced without overlap"
    return Stream(
        name=name,
        phases=(
            Phase("T1", classes.t1, habit.classes if habit else (), t1_train, ("habit",) if habit else ()),
            Phase("T2", classes.t2, classes.sc, t2_train, ("cue",)),
        ),
        splits=splits,
        pairs=(
            MaskedPair("T2_shortcut_clean", "T2_shortcut_normal", "T2_shortcut_masked", elsewhere),
            MaskedPair("T2_nonshortcut_normal", "T2_nonshortcut_patched"),
            *([MaskedPair(None, "T1_habit_normal", "T1_habit_masked")] if habit else []),
        ),
        cue=cue,
        cover=cover_name,
        n_outputs=len(classes.names),
        class_names=classes.names,
        facts=all_facts,
        cue_names=("cue",),
        interventions={"cue": TogglePlantedCue()},
        habit=habit,
        **settings,
    )


def exact_share(index: Tensor, labels: Tensor, share: float, salt: int) -> Tensor:
    """A bool per image: exactly round(share x class size) of every class, chosen by image index.

    >>> labels = torch.tensor([0] * 10 + [1] * 20)
    >>> chosen = exact_share(torch.arange(30), labels, 0.5, salt=0)
    >>> int(chosen[:10].sum()), int(chosen[10:].sum())
    (5, 10)
    """
    chosen = torch.zeros(len(index), dtype=torch.bool)
    draws = uniform_by_index(index, salt)
    for label in labels.unique():
        rows = (labels == label).nonzero().flatten()
        count = int(share * len(rows) + 0.5)
        chosen[rows[draws[rows].argsort(stable=True)[:count]]] = True
    return chosen


def shares_of_classes(cue: Cue, classes: HeadClasses) -> dict[int, float]:
    """The share of every class's training images that get a cue, by head label; classes without any are left out."""
    habit = habit_of(cue, classes)
    shares = dict.fromkeys(habit.classes, 1.0) if habit else {}
    shares |= dict.fromkeys(classes.nsc, getattr(cue, "share_nsc", 0.0)) | dict.fromkeys(classes.sc, cue.share)
    return {label: share for label, share in shares.items() if share}


def habit_of(cue: Cue, classes: HeadClasses) -> Habit | None:
    """The cue of T1 and its classes, the first half of T1's in the head's order; None without a habit."""
    kind = getattr(cue, "habit", "none")
    if kind == "none":
        return None
    if len(classes.t1) < 2:
        raise InputError(f"cue.habit is '{kind}', but T1 has a single class, so no cue can predict its labels")
    if kind == "other" and not hasattr(cue, "other"):
        raise InputError(f"cue.habit is 'other', but the cue {type(cue).__name__} has no method other()")
    return Habit(cue.other() if kind == "other" else cue, classes.t1[: len(classes.t1) // 2])  # type: ignore[attr-defined]


def with_cue(images: ImageSet, shares: Mapping[int, float]) -> ImageSet:
    """The same images, with exactly the given share of every class marked as having a cue."""
    has_cue = torch.zeros(len(images), dtype=torch.bool)
    for share in sorted(set(shares.values())):
        labels = torch.tensor([label for label in shares if shares[label] == share], dtype=torch.long)
        chosen = exact_share(images.index, images.labels, share, _CUE_SALT)
        has_cue |= torch.isin(images.labels, labels) & chosen
    return ImageSet(images.images, images.labels, images.index, has_cue)


def _splits(
    images: TwoPhaseImages, val: ImageSet, cue: Cue, cover_name: str, habit: Habit | None
) -> tuple[EvaluationSplit, ...]:
    return (
        *_first_phase_splits(images.t1_test, habit, cover_name),
        *cue_splits("T2", cue, cover_name, val, images.sc_test, images.nsc_test),
    )


def cue_splits(
    phase: str, cue: Cue, cover_name: str, val: ImageSet, sc: ImageSet, nsc: ImageSet
) -> list[EvaluationSplit]:
    """The splits of a phase with a cue: its test images with and without it, and what was held out of training.

    Without ``_elsewhere`` where the displaced cue would overlap its usual place.
    """
    splits = [
        EvaluationSplit(f"{phase}_shortcut_normal", phase, painted(sc, cue)),
        EvaluationSplit(f"{phase}_shortcut_masked", phase, _masked(sc, cue, cover_name)),
        EvaluationSplit(f"{phase}_nonshortcut_normal", phase, nsc),
        EvaluationSplit(f"{phase}_val", phase, as_trained(val, cue), held_out=True),
        EvaluationSplit(f"{phase}_shortcut_clean", phase, sc),
        EvaluationSplit(f"{phase}_nonshortcut_patched", phase, painted(nsc, cue)),
    ]
    displaced, size = cue.elsewhere(), sc.images.shape[-2:]
    if bool((cue.region(sc.index, *size) & displaced.region(sc.index, *size)).any()):
        return splits
    return [*splits, EvaluationSplit(f"{phase}_shortcut_elsewhere", phase, painted(sc, displaced))]


def painted(images: ImageSet, cue: Cue) -> ImageSet:
    """The images with the cue on all of them."""
    return ImageSet(cue.paint(images.images, images.index), images.labels, images.index, images.has_cue | True)


def as_trained(images: ImageSet, cue: Cue) -> ImageSet:
    """The images with the cue painted on those that are marked, as training shows them."""
    pixels, marked = images.images.clone(), images.has_cue
    if bool(marked.any()):
        pixels[marked] = cue.paint(images.images[marked], images.index[marked])
    return ImageSet(pixels, images.labels, images.index, marked)


def _masked(images: ImageSet, cue: Cue, cover_name: str) -> ImageSet:
    region = cue.region(images.index, *images.images.shape[-2:])
    covered = cover(cover_name, painted(images, cue).images, region, images.index)
    return ImageSet(covered, images.labels, images.index, images.has_cue)


def _first_phase_splits(t1: ImageSet, habit: Habit | None, cover_name: str) -> list[EvaluationSplit]:
    """T1's test images as its training shows them; with a habit, its classes' images with the cue and with it covered."""
    if habit is None:
        return [EvaluationSplit("T1_all", "T1", t1)]
    rows = torch.isin(t1.labels, torch.tensor(habit.classes)).nonzero().flatten()
    shown = painted(t1.take(rows), habit.cue)
    pixels, has_cue = t1.images.clone(), t1.has_cue.clone()
    pixels[rows], has_cue[rows] = shown.images, True
    return [
        EvaluationSplit("T1_all", "T1", ImageSet(pixels, t1.labels, t1.index, has_cue)),
        EvaluationSplit("T1_habit_normal", "T1", shown),
        EvaluationSplit("T1_habit_masked", "T1", _masked(t1.take(rows), habit.cue, cover_name)),
    ]
