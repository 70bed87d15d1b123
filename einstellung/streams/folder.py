"""``folder``: the two-phase protocol, or any number of phases, on a folder of image files, described by a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from einstellung.cues import Cue
from einstellung.cues.covers import FROM_AUDIT
from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.streams.boxed import boxed_stream
from einstellung.streams.colours import Colour, check_colours
from einstellung.streams.folder_phases import folder_phases, normalised_by
from einstellung.streams.folder_source import PictureSource
from einstellung.streams.phase_plan import read_phases
from einstellung.streams.planted import HeadClasses, TwoPhaseImages, planted_stream
from einstellung.streams.stream import EvaluationSplit, Stream, streams


@streams.register("folder")
def folder(
    cue: Cue,
    cover: str = "black",
    *,
    path: str = "",
    table: str = "labels.csv",
    size: int = 32,
    shortcut: tuple[str, ...] = (),
    cue_in_images: bool = False,
    validation: float = 0.1,
    crop_padding: int = 4,
    flip: bool = True,
    mean: Colour | None = None,
    std: Colour | None = None,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """A folder of image files with a table of file, label, phase, split and optionally superclass, group and box.

    Images with a ``shortcut`` label get the planted cue or, with ``cue_in_images``, have one at the boxes in the table.
    ``phases``: any number of phases instead of T1 and T2, as the table names them (docs/data.md).
    """
    if not path:
        raise InputError("stream.path is not set: give the folder that holds the images and the table")
    if not 8 <= size <= 1024:
        raise InputError(f"stream.size is {size}: give a number of pixels from 8 to 1024")
    if not 0 < validation < 1:
        raise InputError(f"stream.validation is {validation}: it must lie between 0 and 1")
    if not 0 <= crop_padding < size:
        raise InputError(f"stream.crop_padding is {crop_padding}: give 0 to {size - 1} for images {size} pixels wide")
    check_colours(mean, std)
    folder_path = Path(path).expanduser()
    settings: dict[str, Any] = {"crop_padding": crop_padding, "flip": flip, "uneven_classes": True}
    if phases is not None:
        plans = read_phases(phases, cue, ["shortcut"] if shortcut else [], classes_needed=False)
        source = PictureSource.read(folder_path, table, size, [plan.name for plan in plans])
        return folder_phases(source, plans, cover, table, cue_in_images, validation, mean, std, settings)
    source = PictureSource.read(folder_path, table, size)
    classes = _classes(source, shortcut)
    images = _images(source, classes, validation)
    source.check_duplicates(images.t2_val.index.tolist())
    trained = torch.cat([images.t1_train.images, images.t2_train.images])
    mean, std, normalisation = normalised_by(trained, mean, std, "both")
    facts = {**_facts(source, classes, table), "normalisation": normalisation}
    settings |= {"mean": mean, "std": std, "files": source.stored()}
    if cue_in_images:
        boxes = source.boxes(() if cover == FROM_AUDIT else shortcut)
        stream = boxed_stream("folder", images, classes, boxes, cover, facts, **settings)
    else:
        stream = planted_stream("folder", images, classes, cue, cover, facts, **settings)
    t1_val = source.part(classes.names, "T1", "val")
    extra = [EvaluationSplit("T1_val", "T1", t1_val, held_out=True)] if len(t1_val) else []
    return replace(stream, splits=(*stream.splits, *extra, *source.group_splits(stream, "T2")))


def _classes(source: PictureSource, shortcut: Sequence[str]) -> HeadClasses:
    """The head: T1's labels, then the cue's, then the others, each group in alphabetical order."""
    labels = {phase: source.labels(phase) for phase in ("T1", "T2")}
    if not shortcut:
        raise InputError("stream.shortcut is empty: name the labels of T2 whose images have the cue")
    for label in shortcut:
        if label not in labels["T2"]:
            raise InputError(
                f"stream.shortcut names '{label}', which is not a label of T2: {suggestion(label, labels['T2'])}"
            )
    others = [label for label in labels["T2"] if label not in shortcut]
    if not others:
        raise InputError("stream.shortcut holds all labels of T2: leave some without the cue")
    parts = (labels["T1"], sorted(set(shortcut)), others)
    ends = [sum(map(len, parts[:number])) for number in range(4)]
    ranges = [tuple(range(first, last)) for first, last in pairwise(ends)]
    return HeadClasses(ranges[0], ranges[1], ranges[2], tuple(label for part in parts for label in part))


def _images(source: PictureSource, classes: HeadClasses, validation: float) -> TwoPhaseImages:
    t2_train, t2_val = source.trained_and_held_out(classes.names, "T2", validation)
    t2_test = source.part(classes.names, "T2", "test")
    in_cue_class = torch.isin(t2_test.labels, torch.tensor(classes.sc))
    return TwoPhaseImages(
        t1_train=source.part(classes.names, "T1", "train"),
        t2_train=t2_train,
        t2_val=t2_val,
        t1_test=source.part(classes.names, "T1", "test"),
        sc_test=t2_test.take(in_cue_class.nonzero().flatten()),
        nsc_test=t2_test.take((~in_cue_class).nonzero().flatten()),
    )


def _facts(source: PictureSource, classes: HeadClasses, table: str) -> dict[str, object]:
    names = classes.names
    superclass = {row.label: row.superclass for row in source.rows if row.superclass is not None}
    parts = {"T1": classes.t1, "SC": classes.sc, "NSC": classes.nsc}
    facts = source.facts(table)
    facts["classes"] = {part: [names[label] for label in labels] for part, labels in parts.items()}
    if superclass:
        facts["superclasses"] = {
            part: sorted({superclass[names[label]] for label in labels if names[label] in superclass})
            for part, labels in parts.items()
        }
    if groups := source.groups():
        facts["groups"] = {f"T2_group_{name}": len(numbers) for name, numbers in sorted(groups.items())}
    return facts | source.box_counts()
