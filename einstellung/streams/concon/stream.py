"""``concon``: tasks with the same question and a different confounder each (Busch et al., 2024).

Every task has positives (the ground truth g holds) and negatives (it does not). In task t the confounder c_t predicts the label.
``strict``: positives have g and c_t, negatives neither. ``disjoint``: in addition, no image has another task's confounder.
``unconfounded``: a single task with g alone. After every task, a net is also evaluated on unconfounded test images, and on
counterfactual twins of the task's own test images: the same scene with the confounder removed (from positives) or inserted (into
negatives), with g unchanged.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.scenes.attributes import Codes
from einstellung.scenes.folders import rules_of
from einstellung.scenes.rules import PAPER_RULES, RuleBook, read_rules
from einstellung.scenes.tables import attribute_table, object_codes
from einstellung.streams.concon.checks import CHECKS
from einstellung.streams.concon.task_datasets import (
    UNCONFOUNDED,
    SceneOptions,
    TaskDatasets,
    TaskSplit,
    resolved_options,
)
from einstellung.streams.stream import EvaluationSplit, ImageSet, Phase, Stream, streams

_SAMPLES = 8  # images of each split on a contact sheet
_MAX_TASKS = 62  # an image's confounders are the bits of one integer


@streams.register("concon")
def concon(
    variant: Literal["strict", "disjoint", "unconfounded"] = "strict",
    input_modality: Literal["pixels", "attributes", "slots"] = "pixels",
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
    """ConCon, generated and rendered here (and cached), or read from a folder in the published layout.

    ``train``, ``val`` and ``test`` are images per class and task; of a folder, the first ones, averaged down to ``size``.
    ``input_modality`` is what a net gets of a scene: its pixels, the table of its objects' attributes, or the table that slot
    attention (with the weights ``perception``) reads from the pixels.
    """
    if (input_modality == "slots") != (perception is not None):
        raise InputError(
            "stream.perception, weights made by 'einstellung concon perceive', must be given if and only if "
            "stream.input_modality is 'slots'"
        )
    book = _rules(rules, path)
    if book.tasks > _MAX_TASKS:
        raise InputError(f"the rules have {book.tasks} tasks; a study has at most {_MAX_TASKS}")
    if book.uses_places and input_modality != "pixels":
        raise InputError(
            f"stream.input_modality is '{input_modality}', a table without positions, but the rules constrain places: "
            "give 'pixels'"
        )
    options = resolved_options({"train": train, "val": val, "test": test}, size, seed, backend)
    datasets = TaskDatasets(
        book, variant, input_modality, options, Path(path) if path else None, Path(perception) if perception else None
    )
    phases, splits, scenes = [], [], {}
    samples: dict[str, Tensor] = {}
    cues = () if variant == UNCONFOUNDED else tuple(book.confounder_words(task) for task in range(datasets.tasks))
    for task in range(datasets.tasks):
        name = f"T{task + 1}"
        training = datasets.split(variant, "train", task)
        phases.append(Phase(name, (0, 1), (), training.images, cues[task : task + 1]))
        scenes[name] = training.scenes
        own = _task_splits(datasets, name, task, training, datasets.split(variant, "test", task))
        for split, data in own.items():
            splits.append(EvaluationSplit(split, name, data.images, always=split in _always_evaluated(name)))
            scenes[split] = data.scenes
    last = phases[-1].name
    unconfounded = datasets.split(UNCONFOUNDED, "test", 0)
    for word, label in (("positive", 1), ("negative", 0)):
        data = unconfounded.of_label(label)
        splits.append(EvaluationSplit(f"{UNCONFOUNDED}_{word}", last, data.images))
        scenes[f"{UNCONFOUNDED}_{word}"] = data.scenes
    pixels = input_modality == "pixels"
    if pixels:
        samples = {split.name: split.images.images[:_SAMPLES] for split in splits if _is_sampled(split.name)}
    channels = phases[0].train.images.shape[1]
    return Stream(
        name="concon",
        diagnosis="confounding",
        phases=tuple(phases),
        splits=tuple(splits),
        pairs=(),
        cue=None,
        cover=None,
        n_outputs=2,
        class_names=("negative", "positive"),
        # normalisation leaves the zeros and ones of tables unchanged
        mean=(0.5,) * channels if pixels else (0.0,),
        std=(0.5,) * channels if pixels else (1 / 255,),
        crop_padding=0,
        flip=False,
        checks=tuple(check_of(book, variant, scenes) for check_of in CHECKS),
        samples=samples,
        cue_names=cues,
        facts={
            "protocol": "confounded tasks",
            "variant": variant,
            "tasks": datasets.tasks,
            "input_modality": input_modality,
            "ground_truth": book.ground_truth_words(),
            "confounders": list(cues),
            "pictures": _pictures(input_modality, path, options),
            **_perceived(input_modality, unconfounded, book),
            "content": _content([phase.train for phase in phases] + [split.images for split in splits]),
        },
    )


def _rules(rules: str | None, path: str | None) -> RuleBook:
    """The rules given, those the folder was made with, or the paper's."""
    given = read_rules(Path(rules)) if rules else None
    of_folder = rules_of(Path(path)) if path else None
    if given is not None and of_folder is not None and given != of_folder:
        raise InputError(f"stream.rules {rules} are not those {path} was made with: leave stream.rules out")
    return given or of_folder or PAPER_RULES


def _task_splits(
    datasets: TaskDatasets, name: str, task: int, training: TaskSplit, test: TaskSplit
) -> dict[str, TaskSplit]:
    """The evaluation splits of a task, by name."""
    own = {
        f"{name}_train": training.first(len(test.images) // 2),
        f"{name}_val": datasets.split(datasets.variant, "val", task),
        f"{name}_positive": test.of_label(1),
        f"{name}_negative": test.of_label(0),
    }
    if datasets.variant == UNCONFOUNDED:
        return own
    for word, insert in (("positive", False), ("negative", True)):
        if pair := datasets.twins(own[f"{name}_{word}"], task, insert):
            own[f"{name}_{word}_paired"], own[f"{name}_{word}_twin"] = pair
    return own


def _pictures(input_modality: str, path: str | None, options: SceneOptions) -> str:
    if path:
        return "read from a folder"
    if input_modality == "attributes":
        return "none: scenes are sampled but not rendered"
    return f"rendered by the {options.backend} backend, {options.size}x{options.size}"


def _perceived(input_modality: str, unconfounded: TaskSplit, book: RuleBook) -> dict[str, Any]:
    """For slots: the accuracy of perception on unconfounded test images, if their true attributes are known."""
    attributes = unconfounded.scenes.attributes
    if input_modality != "slots" or attributes is None:
        return {}
    return {"perceived": table_accuracy(unconfounded.images.images[:, 0].numpy(), np.asarray(attributes), book)}


def table_accuracy(tables: Codes, attributes: Codes, book: RuleBook) -> dict[str, float]:
    """Shares of correctly perceived scenes, from perceived tables [N, slots, 16] and true attributes [N, K, 4].

    ``whole_scenes``: exactly the true objects are perceived. ``ground_truth``: the rule g applied to the perceived objects gives
    the right answer; a net that reads these tables can hardly do better.

    >>> from einstellung.scenes.rules import PAPER_RULES
    >>> scene = np.array([[[1, 0, 1, 2], [0, 0, 1, 2]]], dtype=np.uint8)  # a sphere and a small cube
    >>> table_accuracy(attribute_table(scene), scene, PAPER_RULES)
    {'whole_scenes': 1.0, 'ground_truth': 1.0}
    >>> table_accuracy(attribute_table(scene[:, :1]), scene, PAPER_RULES)  # the cube was missed
    {'whole_scenes': 0.0, 'ground_truth': 0.0}
    """
    whole = [
        Counter(row.tobytes() for row in perceived if row.any()) == Counter(row.tobytes() for row in true)
        for perceived, true in zip(tables, attribute_table(attributes), strict=True)
    ]
    present, codes = tables.any(axis=2), object_codes(tables)
    predicted = np.all([(pattern.matches(codes, None) & present).any(axis=1) for pattern in book.ground_truth], axis=0)
    truth = book.truths(attributes)[:, 0]
    return {"whole_scenes": float(np.mean(whole)), "ground_truth": float((predicted == truth).mean())}


def _always_evaluated(name: str) -> tuple[str, ...]:
    return (f"{name}_val", f"{name}_positive", f"{name}_negative")


def _is_sampled(split: str) -> bool:
    return not split.endswith(("_train", "_val"))


def _content(sets: list[ImageSet]) -> str:
    """A hash of all inputs: images of one seed may differ in a few bits between backends."""
    return digest({"sets": [_set_digest(images) for images in sets]})


def _set_digest(images: ImageSet) -> str:
    pixels = images.images[:1] if images.images.stride(0) == 0 else images.images  # one image, repeated: a stand-in
    hasher = hashlib.sha256(pixels.contiguous().numpy().data)
    hasher.update(images.labels.contiguous().numpy().data)
    return hasher.hexdigest()
