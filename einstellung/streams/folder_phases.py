"""A folder of image files in any number of phases, as its table names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from einstellung.cues.covers import FROM_AUDIT
from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.streams.colours import Colour, mean_and_std
from einstellung.streams.folder_source import PictureSource
from einstellung.streams.many_phases import check_shortcut
from einstellung.streams.phase_plan import PhasePlan
from einstellung.streams.planted_phases import PhaseImages, planted_phases
from einstellung.streams.stream import Stream


def folder_phases(
    source: PictureSource,
    plans: Sequence[PhasePlan],
    cover: str,
    table: str,
    cue_in_images: bool,
    validation: float,
    mean: Colour | None,
    std: Colour | None,
    settings: dict[str, Any],
) -> Stream:
    """The stream: labels phase by phase, in each the cue's before the others, in alphabetical order."""
    parts = [_parts(source, plan) for plan in plans]
    names = tuple(label for shortcut, others in parts for label in (*shortcut, *others))
    boxes = source.boxes(
        [label for plan, (shortcut, _) in zip(plans, parts, strict=True) if plan.has_cue for label in shortcut]
        if cue_in_images and cover != FROM_AUDIT
        else ()
    )
    images, first = [], 0
    for plan, (shortcut, others) in zip(plans, parts, strict=True):
        train, val = source.trained_and_held_out(names, plan.name, validation)
        tested = source.part(names, plan.name, "test")
        ends = (first + len(shortcut), first + len(shortcut) + len(others))
        is_sc = tested.labels < ends[0]
        images.append(
            PhaseImages(
                plan.name,
                train,
                val,
                tested.take(is_sc.nonzero().flatten()),
                tested.take((~is_sc).nonzero().flatten()),
                tuple(range(first, ends[0])),
                tuple(range(*ends)),
                boxes if plan.has_cue and cue_in_images else plan.cue,
            )
        )
        first = ends[1]
    source.check_duplicates(index for one in images for index in one.val.index.tolist())
    trained = torch.cat([one.train.images for one in images])
    mean, std, normalisation = normalised_by(trained, mean, std, "all")
    facts = {**source.facts(table), **source.box_counts(), "normalisation": normalisation}
    groups = {
        f"{plan.name}_group_{name}": len(rows)
        for plan in plans
        if plan.has_cue
        for name, rows in sorted(source.groups(plan.name).items())
    }
    facts |= {"groups": groups} if groups else {}
    settings = settings | {"mean": mean, "std": std, "files": source.stored(), "in_images": cue_in_images}
    stream = planted_phases("folder", images, names, cover, facts, **settings)
    extra = [split for plan in plans if plan.has_cue for split in source.group_splits(stream, plan.name)]
    return replace(stream, splits=(*stream.splits, *extra))


def _parts(source: PictureSource, plan: PhasePlan) -> tuple[list[str], list[str]]:
    """The labels of a phase with the cue, and its other ones."""
    if plan.classes:
        raise InputError(
            f"{plan.place}.classes: the table's column 'phase' says which labels {plan.name} has; leave it out"
        )
    labels = source.labels(plan.name)
    shortcut = [str(label) for label in plan.shortcut]
    for label in shortcut:
        if label not in labels:
            raise InputError(
                f"{plan.place}.shortcut names '{label}', which is not a label of {plan.name}: {suggestion(label, labels)}"
            )
    check_shortcut(plan, labels, shortcut)
    return sorted(shortcut), [label for label in labels if label not in shortcut]


def normalised_by(
    trained: Tensor, mean: Colour | None, std: Colour | None, which: str
) -> tuple[Colour, Colour, dict[str, object]]:
    """Mean and deviation of the colours, given or those of the training images, and what the facts say of them."""
    given = mean is not None and std is not None
    mean, std = (mean, std) if mean is not None and std is not None else mean_and_std(trained)
    by = "the configuration" if given else f"the {len(trained)} training images of {which} phases"
    return mean, std, {"mean": list(mean), "std": list(std), "from": by}
