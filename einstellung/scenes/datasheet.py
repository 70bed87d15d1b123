"""``datasheet.md``: what a person should know before using a folder of scenes, with the numbers of what was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.scenes.rules import RuleBook
from einstellung.scenes.sampling import SPLITS


@dataclass(frozen=True)
class ClassFacts:
    """One class of a task: how many images each split has, and in what share of all of them g, c_1, ..., c_T hold."""

    case: str
    task: int
    label: int
    images: Mapping[str, int]
    shares: npt.NDArray[np.float64]


def datasheet(book: RuleBook, made: Mapping[str, Any], facts: Sequence[ClassFacts]) -> str:
    """The sheet as Markdown."""
    settings = made["settings"]
    size, total = settings["size"], sum(sum(one.images.values()) for one in facts)
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    rules = "\n".join(f"- T{task + 1} (folders `t{task}`): {book.confounder_words(task)}" for task in range(book.tasks))
    return f"""# Datasheet: scenes with continual confounders

{total:,} pictures of {size}x{size} pixels, drawn on {made["made"]} by einstellung.

## Why it was made

To see whether a learner that meets tasks one after the other learns the rule that is common to all of them, or the
confounder that each task offers beside it. The sets follow the definitions of "Where is the Truth? The Risk of Getting
Confounded in a Continual World" (Busch et al.); the pictures are drawn anew and are not those the authors publish.

## What is in it

Every picture shows {book.objects} objects on a grey ground. An object has a shape (cube, sphere, cylinder), a size (small,
large), a material (rubber, metal) and a colour (gray, red, blue, green, brown, purple, cyan, yellow).
A picture is positive (label 1) where it shows **{book.ground_truth_words()}**, and negative (label 0) where it does not.

The confounders:

{rules}

- *strict*: positives obey the rule and their task's confounder, negatives neither of the two.
- *disjoint*: as strict, and the confounders of the other tasks are in no picture.
- *unconfounded*: the rule alone decides.

{_table(book, facts)}

The last columns are the share of a class's pictures in which the rule g and the confounders c1, c2, ... hold, counted over all
splits. The splits of a class are drawn from the same law, every scene by itself.

## How it was made

The attributes of a scene are drawn evenly from all scenes that its class allows, without rejection, and are never drawn again.
Then camera and lamps are moved at random, and positions and rotations drawn until the objects keep their distance and each is
seen: so attributes do not depend on what is easy to place.
Pictures are rendered by {settings["backend"]} (renderer version {settings["renderer"]}).
Seed {settings["seed"]}; a scene depends on the seed, its case, split, task, label and number alone. Versions: {versions}.

## Files

- `CASE/SPLIT/images/tTASK/LABEL/NUMBER.png`: the pictures, in the layout of the published sets.
- `CASE/SPLIT/masks/tTASK/LABEL/NUMBER.png`: which object a pixel shows, 0 for the ground, k for the k-th of its record.
- `CASE/SPLIT/scenes.jsonl`: a line of JSON for every picture, from which it can be drawn again: objects with `shape`, `size`,
  `material`, `color`, `position` (x, y and the height of the centre) and `rotation` (degrees; `radians` is exact), and how far
  `camera` and `lamps` (key, fill, back) stand from their usual places.
- `CASE/SPLIT/sha256.txt`: the hash of every file, for `sha256sum -c sha256.txt`.
- `CASE/contact_sheet.png`, `croissant.json` (metadata in the Croissant format), `made.json` (settings and versions).

## What to be careful about

- Use the unconfounded test set to tell whether the rule was learned. Accuracy on a confounded task says nothing about it.
- The confounders are planted: a high accuracy on a confounded task is no achievement, and a low one on the unconfounded set
  says nothing about pictures of the world.
- Objects may hide a part of each other. Colours and materials look different under each lamp.
- No people, no personal data, nothing collected from anywhere: all of it is computed.

## Licence and upkeep

The program claims no rights in what it draws; the metadata name CC0. Change that if you publish the folder under other terms. The
same command with the same versions makes the same bytes again, so nothing has to be kept for ever but `made.json`.
"""


def _table(book: RuleBook, facts: Sequence[ClassFacts]) -> str:
    heads = ["case", "task", "label", *SPLITS, "g", *(f"c{task + 1}" for task in range(book.tasks))]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for one in facts:
        cells = [one.case, f"T{one.task + 1}", str(one.label), *(f"{one.images[split]:,}" for split in SPLITS)]
        lines.append("| " + " | ".join([*cells, *(f"{share:.3f}" for share in one.shares)]) + " |")
    return "\n".join(lines)
