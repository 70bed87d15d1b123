"""``datasheet.md``: what to know before using a folder of scenes, with counts of its content."""

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
    """One class of a task: images per split, and the share of them in which g, c_1, ..., c_T hold."""

    case: str
    task: int
    label: int
    images: Mapping[str, int]
    shares: npt.NDArray[np.float64]


def datasheet(book: RuleBook, manifest: Mapping[str, Any], facts: Sequence[ClassFacts]) -> str:
    """The sheet as Markdown."""
    settings = manifest["settings"]
    size, total = settings["size"], sum(sum(one.images.values()) for one in facts)
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    rules = "\n".join(f"- T{task + 1} (folders `t{task}`): {book.confounder_words(task)}" for task in range(book.tasks))
    return f"""# Datasheet: scenes with continual confounders

{total:,} pictures of {size}x{size} pixels, rendered on {manifest["made"]} by einstellung.

## Motivation

To test whether a continual learner learns the rule that all tasks share, or the confounder of each task. The sets follow the
definitions of "Where is the Truth? The Risk of Getting Confounded in a Continual World" (Busch et al.); the pictures are rendered
by this program and are not those the authors publish.

## Composition

Every picture shows {book.objects} objects on a grey ground. An object has a shape (cube, sphere, cylinder), a size (small,
large), a material (rubber, metal) and a colour (gray, red, blue, green, brown, purple, cyan, yellow).
A picture is positive (label 1) if it shows **{book.ground_truth_words()}**, and negative (label 0) otherwise.

The confounders:

{rules}

- *strict*: positives satisfy the rule and their task's confounder, negatives neither.
- *disjoint*: as strict, and no picture has a confounder of another task.
- *unconfounded*: only the rule predicts the label.

{_table(book, facts)}

The last columns are the share of a class's pictures in which the rule g and the confounders c1, c2, ... hold, counted over all
splits. The splits of a class come from the same distribution; scenes are independent of each other.

## Collection process

The attributes of a scene are drawn uniformly from all scenes that its class allows, without rejection, and are never redrawn.
Camera and lamps are then jittered, and positions and rotations drawn until the objects keep their distance and every object is
visible: so the attributes do not depend on what is easy to place.
{_layout(book)}
Pictures are rendered by {settings["backend"]} (renderer version {settings["renderer"]}).
Seed {settings["seed"]}; a scene depends only on the seed, its case, split, task, label and number. Versions: {versions}.

## Files

- `CASE/SPLIT/images/tTASK/LABEL/NUMBER.png`: the pictures, in the layout of the published sets.
- `CASE/SPLIT/masks/tTASK/LABEL/NUMBER.png`: which object a pixel shows, 0 for the ground, k for the k-th of its record.
- `CASE/SPLIT/scenes.jsonl`: a line of JSON for every picture, from which it can be rendered again: objects with `shape`, `size`,
  `material`, `color`, `position` (x, y and the height of the centre) and `rotation` (degrees; `radians` is exact), and the
  offsets of `camera` and `lamps` (key, fill, back) from their default positions.
- `CASE/SPLIT/sha256.txt`: the hash of every file, for `sha256sum -c sha256.txt`.
- `CASE/contact_sheet.png`, `croissant.json` (metadata in the Croissant format), `made.json` (settings and versions).

## Uses and limits

- Use the unconfounded test set to test whether the rule was learned. Accuracy on a confounded task cannot show it.
- The confounders are planted: high accuracy on a confounded task is no achievement, and low accuracy on the unconfounded set
  does not carry over to photographs.
- Objects may partly occlude each other. Colours and materials vary with the light.
- No people, no personal data: everything is computed.

## Licence and maintenance

The program claims no rights in what it renders; the metadata name CC0. Change that if you publish the folder under other terms.
The same command with the same versions gives the same bytes, so only `made.json` needs to be kept.
"""


def _layout(book: RuleBook) -> str:
    """What layouts reveal about the label."""
    if book.uses_places:
        return "The rules mention places, so positions predict the label."
    return """\
The same layout must also suit the objects of another scene, drawn from the task's other class, so positions, camera and lamps
alone do not predict the label. The visible areas of objects do: they follow from the sizes and shapes that the rules require.
`einstellung concon audit` measures both."""


def _table(book: RuleBook, facts: Sequence[ClassFacts]) -> str:
    heads = ["case", "task", "label", *SPLITS, "g", *(f"c{task + 1}" for task in range(book.tasks))]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for one in facts:
        cells = [one.case, f"T{one.task + 1}", str(one.label), *(f"{one.images[split]:,}" for split in SPLITS)]
        lines.append("| " + " | ".join([*cells, *(f"{share:.3f}" for share in one.shares)]) + " |")
    return "\n".join(lines)
