"""``concon``: a task after the other with the same question and another confounder each (Busch et al., 2024).

Every task has positives (the ground truth g holds) and negatives (it does not). In task t its confounder c_t goes with the label:
``strict``: positives g and c_t, negatives neither; ``disjoint``: besides, no other task's confounder anywhere; ``unconfounded``:
g alone, one task. Whatever was learned is measured on the unconfounded test images too, and on twins of the task's own test
images: the very same scene with the confounder taken away (of positives) or put in (of negatives), the truth of g unchanged.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.scenes.folders import rules_of
from einstellung.scenes.rules import PAPER_RULES, RuleBook, read_rules
from einstellung.streams.concon.checks import CHECKS
from einstellung.streams.concon.lots import UNCONFOUNDED, Lot, Lots, Making, resolved_making
from einstellung.streams.concon.reading import read_rightly
from einstellung.streams.stream import EvaluationSplit, ImageSet, Phase, Stream, streams

_SHOWN = 8  # images of each kind on a sheet
_MOST_TASKS = 62  # an image's confounders are bits of one whole number, beside its class


@streams.register("concon")
def concon(
    variant: Literal["strict", "disjoint", "unconfounded"] = "strict",
    sees: Literal["pixels", "attributes", "slots"] = "pixels",
    size: int = 64,
    train: int = 3000,
    val: int = 750,
    test: int = 750,
    seed: int = 0,
    rules: str | None = None,
    path: str | None = None,
    perception: str | None = None,
    backend: Literal["auto", "numba", "torch", "bpy"] = "auto",
) -> Stream:
    """ConCon, drawn and rendered here (once, then kept), or read from a folder in the published layout.

    ``train``, ``val`` and ``test`` are numbers of images per class and task; of a folder, the first ones. Its images are averaged
    down to ``size``. ``sees``: what a net is shown of a scene: its
    pixels, a table of its objects' attributes, or the table that a slot attention model (its weights in ``perception``) reads
    off the pixels.
    """
    if (sees == "slots") != (perception is not None):
        raise InputError(
            "stream.sees 'slots' needs stream.perception, weights made by 'einstellung concon perceive', and nothing else does"
        )
    book = _rules(rules, path)
    if book.tasks > _MOST_TASKS:
        raise InputError(f"the rules have {book.tasks} tasks; a study has at most {_MOST_TASKS}")
    if book.uses_places and sees != "pixels":
        raise InputError(
            f"stream.sees is '{sees}', a table that does not tell where objects are, but the rules speak of sides or depths: "
            "give 'pixels'"
        )
    making = resolved_making({"train": train, "val": val, "test": test}, size, seed, backend)
    lots = Lots(book, variant, sees, making, Path(path) if path else None, Path(perception) if perception else None)
    phases, splits, scenes = [], [], {}
    samples: dict[str, Tensor] = {}
    cues = () if variant == UNCONFOUNDED else tuple(book.confounder_words(task) for task in range(lots.tasks))
    for task in range(lots.tasks):
        name = f"T{task + 1}"
        training = lots.lot(variant, "train", task)
        phases.append(Phase(name, (0, 1), (), training.images, cues[task : task + 1]))
        scenes[name] = training.scenes
        own = _task_splits(lots, name, task, training, lots.lot(variant, "test", task))
        for split, lot in own.items():
            splits.append(EvaluationSplit(split, name, lot.images, always=split in _measured_always(name)))
            scenes[split] = lot.scenes
    last = phases[-1].name
    unconfounded = lots.lot(UNCONFOUNDED, "test", 0)
    for word, label in (("positive", 1), ("negative", 0)):
        lot = unconfounded.of_label(label)
        splits.append(EvaluationSplit(f"{UNCONFOUNDED}_{word}", last, lot.images))
        scenes[f"{UNCONFOUNDED}_{word}"] = lot.scenes
    if sees == "pixels":
        samples = {split.name: split.images.images[:_SHOWN] for split in splits if _is_shown(split.name)}
    channels = phases[0].train.images.shape[1]
    return Stream(
        name="concon",
        phases=tuple(phases),
        splits=tuple(splits),
        pairs=(),
        cue=None,
        cover=None,
        n_outputs=2,
        class_names=("negative", "positive"),
        # tables hold zeros and ones and stay what they are
        mean=(0.5,) * channels if sees == "pixels" else (0.0,),
        std=(0.5,) * channels if sees == "pixels" else (1 / 255,),
        crop_padding=0,
        flip=False,
        checks=tuple(check_of(book, variant, scenes) for check_of in CHECKS),
        samples=samples,
        cue_names=cues,
        facts={
            "protocol": "confounded tasks",
            "variant": variant,
            "tasks": lots.tasks,
            "sees": sees,
            "ground_truth": book.ground_truth_words(),
            "confounders": list(cues),
            "pictures": _pictures(sees, path, making),
            **_perceived(sees, unconfounded, book),
            "content": _content([phase.train for phase in phases] + [split.images for split in splits]),
        },
    )


def _rules(rules: str | None, path: str | None) -> RuleBook:
    """Those asked for, or those that the folder was made with, or the paper's."""
    asked = read_rules(Path(rules)) if rules else None
    made = rules_of(Path(path)) if path else None
    if asked is not None and made is not None and asked != made:
        raise InputError(f"stream.rules {rules} are not those that {path} was made with: leave stream.rules out")
    return asked or made or PAPER_RULES


def _task_splits(lots: Lots, name: str, task: int, training: Lot, test: Lot) -> dict[str, Lot]:
    """What is measured of a task, by name of split."""
    own = {
        f"{name}_train": training.first(len(test.images) // 2),
        f"{name}_val": lots.lot(lots.variant, "val", task),
        f"{name}_positive": test.of_label(1),
        f"{name}_negative": test.of_label(0),
    }
    if lots.variant == UNCONFOUNDED:
        return own
    for word, insert in (("positive", False), ("negative", True)):
        if pair := lots.twins(own[f"{name}_{word}"], task, insert):
            own[f"{name}_{word}_paired"], own[f"{name}_{word}_twin"] = pair
    return own


def _pictures(sees: str, path: str | None, making: Making) -> str:
    if path:
        return "read from a folder"
    if sees == "attributes":
        return "none: scenes are drawn, and nothing of them is rendered"
    return f"rendered by the {making.backend} backend, {making.size}x{making.size}"


def _perceived(sees: str, unconfounded: Lot, book: RuleBook) -> dict[str, Any]:
    """Of slots: how well the unconfounded test images were read, where it is known what they show."""
    attributes = unconfounded.scenes.attributes
    if sees != "slots" or attributes is None:
        return {}
    return {"perceived": read_rightly(unconfounded.images.images[:, 0].numpy(), np.asarray(attributes), book)}


def _measured_always(name: str) -> tuple[str, ...]:
    return (f"{name}_val", f"{name}_positive", f"{name}_negative")


def _is_shown(split: str) -> bool:
    return not split.endswith(("_train", "_val"))


def _content(sets: list[ImageSet]) -> str:
    """A hash of what is shown: pictures of one seed may differ in a few bits from one backend to the other."""
    return digest({"sets": [_set_digest(images) for images in sets]})


def _set_digest(images: ImageSet) -> str:
    hasher = hashlib.sha256(images.images.contiguous().numpy().data)
    hasher.update(images.labels.contiguous().numpy().data)
    return hasher.hexdigest()
