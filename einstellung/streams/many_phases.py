"""Many phases on labelled images with superclasses: which classes each phase has, and its images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.modalities import IMAGES, Modality
from einstellung.registry import suggestion
from einstellung.streams.duplicates import Duplicates, deduplicated_phases
from einstellung.streams.phase_plan import PhasePlan
from einstellung.streams.planted import HELD_OUT, exact_share
from einstellung.streams.planted_phases import PhaseImages, planted_phases
from einstellung.streams.stream import ImageSet, Stream
from einstellung.streams.two_phase import LabelledImages, Labels, Taxonomy


@dataclass(frozen=True)
class PhaseClasses:
    """The fine classes of a phase: those of the cue (SC) and the others (NSC)."""

    plan: PhasePlan
    sc: tuple[int, ...]
    nsc: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.sc, *self.nsc)


def many_phases(
    name: str,
    plans: Sequence[PhasePlan],
    *,
    train: LabelledImages,
    test: LabelledImages,
    taxonomy: Taxonomy,
    cover: str,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    validation: float = 0.1,
    labels: Labels = "fine",
    train_per_class: int | None = None,
    test_per_class: int | None = None,
    crop_padding: int = 4,
    flip: bool = True,
    uneven_classes: bool = False,
    facts: dict[str, object] | None = None,
    duplicates: Duplicates | None = None,
    modality: Modality = IMAGES,
) -> Stream:
    """Build the stream: one head over all classes, phase by phase, in each the cue's classes before the others."""
    if not 0 < validation < 1:
        raise InputError(f"stream.validation is {validation}: it must lie between 0 and 1")
    parts = [_classes(plan, taxonomy) for plan in plans]
    check_disjoint([(one.plan.name, [taxonomy.fine_names[fine] for fine in one.all]) for one in parts])
    head, class_names = _head(parts, taxonomy, labels)

    def images_of(source: LabelledImages, fine: Sequence[int], per_class: int | None) -> ImageSet:
        rows = source.rows(fine, per_class)
        return ImageSet.without_cue(source.images[rows], head[source.fine[rows]], rows)

    trains, vals, tests = dict[str, ImageSet](), dict[str, ImageSet](), dict[str, ImageSet]()
    for one in parts:
        phase = one.plan.name
        own = images_of(train, one.all, train_per_class)
        held_out = exact_share(own.index, train.fine[own.index], validation, HELD_OUT)
        check_held_out(phase, train.fine[own.index], held_out, validation, taxonomy.fine_names)
        trains[phase], vals[phase] = (own.take(rows.nonzero().flatten()) for rows in (~held_out, held_out))
        for title, fine in zip(_titles(one), (one.sc, one.nsc), strict=True):
            tests[title] = images_of(test, fine, test_per_class)
    sets = deduplicated_phases(duplicates or Duplicates(), trains, vals, tests)
    images = []
    for one in parts:
        phase = one.plan.name
        sc, nsc = (tuple(sorted({int(head[fine]) for fine in part})) for part in (one.sc, one.nsc))
        shortcut, others = (sets.test[title] for title in _titles(one))
        images.append(PhaseImages(phase, sets.train[phase], sets.val[phase], shortcut, others, sc, nsc, one.plan.cue))
    all_facts = {**(facts or {}), "labels": labels}
    if duplicates is not None:
        all_facts["duplicates"] = sets.describe()
    return planted_phases(
        name,
        images,
        class_names,
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


def _titles(part: PhaseClasses) -> tuple[str, str]:
    """What the facts call the test images of the cue's classes and of the others."""
    name = part.plan.name
    return f"{name}_shortcut", f"{name}_nonshortcut" if part.sc else f"{name}_all"


def _classes(plan: PhasePlan, taxonomy: Taxonomy) -> PhaseClasses:
    """The fine classes that a phase names, by the number or name of a superclass, or by the name of a fine class."""
    every, shortcut = (
        {fine for one in given for fine in _fine_of(one, taxonomy, f"{plan.place}.{key}")}
        for key, given in (("classes", plan.classes), ("shortcut", plan.shortcut))
    )
    check_shortcut(plan, *([taxonomy.fine_names[fine] for fine in sorted(part)] for part in (every, shortcut)))
    return PhaseClasses(plan, tuple(sorted(shortcut)), tuple(sorted(every - shortcut)))


def check_shortcut(plan: PhasePlan, classes: Sequence[str], shortcut: Sequence[str]) -> None:
    """The cue's classes are some of the phase's own, and not all."""
    if outside := [name for name in shortcut if name not in classes]:
        raise InputError(f"{plan.place}.shortcut names '{outside[0]}', which is not a class of {plan.name}")
    if shortcut and len(shortcut) == len(classes):
        raise InputError(f"{plan.place}.shortcut holds all classes of {plan.name}: leave some without the cue")


def check_disjoint(phases: Sequence[tuple[str, Sequence[str]]]) -> None:
    """No class is in two phases."""
    first: dict[str, str] = {}
    for phase, names in phases:
        for name in names:
            if (other := first.setdefault(name, phase)) != phase:
                raise InputError(f"the class '{name}' is in {other} and in {phase}: phases must not share a class")


def check_held_out(phase: str, labels: Tensor, held_out: Tensor, validation: float, names: Sequence[str]) -> None:
    """Every class keeps some training images, and gives some to validation."""
    for label in labels.unique().tolist():
        own = held_out[labels == label]
        if own.all() or not own.any():
            raise InputError(
                f"stream.validation {validation:g} holds out {int(own.sum())} of {len(own)} training images of "
                f"'{names[label]}' in {phase}: choose another share, or more images"
            )


def _fine_of(one: int | str, taxonomy: Taxonomy, place: str) -> list[int]:
    superclasses = {plain(name): number for number, name in enumerate(taxonomy.superclass_names)}
    fine = {plain(name): number for number, name in enumerate(taxonomy.fine_names)}
    if isinstance(one, int):
        number: int | None = one if 0 <= one < len(taxonomy.superclass_names) else None
    else:
        number = superclasses.get(plain(one))
        if number is None and plain(one) in fine:
            return [fine[plain(one)]]
    if number is None:
        known = suggestion(plain(str(one)), [*superclasses, *fine]) if isinstance(one, str) else ""
        numbers = f"superclasses have the numbers 0 to {len(taxonomy.superclass_names) - 1}"
        raise InputError(f"{place} names {one!r}, which is not a class of the stream: {known or numbers}")
    return [label for label, superclass in enumerate(taxonomy.superclass_of) if superclass == number]


def plain(name: str) -> str:
    """A class name as it is compared: without case, with underscores.

    >>> plain("Oak tree")
    'oak_tree'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _head(parts: Sequence[PhaseClasses], taxonomy: Taxonomy, labels: Labels) -> tuple[Tensor, tuple[str, ...]]:
    """The head's label of every fine class (-1: not in the stream), and the names of its outputs."""
    if labels == "fine":
        fine = [one for part in parts for one in part.all]
        groups, names = [[one] for one in fine], [taxonomy.fine_names[one] for one in fine]
    else:
        groups, names = _superclass_groups(parts, taxonomy)
    head = torch.full((len(taxonomy.superclass_of),), -1)
    for label, group in enumerate(groups):
        head[group] = label
    return head, tuple(names)


def _superclass_groups(parts: Sequence[PhaseClasses], taxonomy: Taxonomy) -> tuple[list[list[int]], list[str]]:
    owner: dict[int, tuple[str, str]] = {}
    groups: dict[int, list[int]] = {}
    for part in parts:
        for title, fine in (("the cue's classes", part.sc), ("the other classes", part.nsc)):
            for one in fine:
                superclass = taxonomy.superclass_of[one]
                if owner.setdefault(superclass, (part.plan.name, title)) != (part.plan.name, title):
                    raise InputError(
                        f"{part.plan.place}: with labels: superclass, all of '{taxonomy.superclass_names[superclass]}' must be "
                        "in one phase, with the cue or without it"
                    )
                groups.setdefault(superclass, []).append(one)
    return list(groups.values()), [taxonomy.superclass_names[superclass] for superclass in groups]
