"""``datasheet.md``: what a person should know before using a folder of composites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.composites.making import Composites
from einstellung.composites.sources import BACKGROUND, OBJECT, TARGET


def datasheet(composites: Composites, record: Mapping[str, Any]) -> str:
    """The sheet as Markdown."""
    labels, settings = composites.labels, record["settings"]
    background, co_object = composites.phases[0]
    total = sum(sum(groups.values()) for groups in record["images"].values())
    pairs = "\n".join(
        f"- {labels[TARGET][value]} goes with {labels[BACKGROUND][value]} backgrounds and {labels[OBJECT][value]} objects"
        for value in (0, 1)
    )
    return f"""# Datasheet: composites with two shortcuts

{total:,} pictures of {settings["size"]}x{settings["size"]} pixels, put together on {record["made"]}
by einstellung {record["einstellung"]} from {composites.words}.

## Why it was made

To see whether a classifier of targets ({labels[TARGET][0]} or {labels[TARGET][1]}) leans on the background or on the object
beside them, and whether a cure of one shortcut feeds the other. The recipe is that of UrbanCars ("A Whac-A-Mole
Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others", Li et al., CVPR 2023); no picture of
that set is in it.

## What is in it

{pairs}

In training the background is the common one in {background:.0%} of a class's images and the object in {co_object:.0%}, each
independently of the other; in validation and test every group has as many images.

{_table(record["images"])}

A group is named by the class (0 or 1) and by whether background and object are common (1) or not (0).

## How it was made

The target is cropped to its mask, its longer side half of the canvas, in the middle; the object's longer side is a quarter,
centred at half the height and .875 of the width; masks are hard. In a split every target and every background is used once,
objects many times; no source is in two splits. Seed {settings["seed"]}: the same command makes the same pictures again.

## Files

- `CASE/SPLIT/GROUP/NNN.jpg` the picture, `NNN_mask.png` where the target is, `NNN_co_occur_obj_mask.png` what is seen of the
  object, `NNN_bg_only.png` the whole background. `CASE` is `bg-R_co_occur_obj-R`, with the correlations of training or 0.5.
- `contact_sheets/`: some pictures of every group. `made.json`: settings, labels and counts.

## What to be careful about

Accuracy on training-like images says nothing about the target: look at the groups. The pictures keep the terms of use of their
sources, and the flaws.
"""


def _table(images: Mapping[str, Mapping[str, int]]) -> str:
    groups = list(images["test"])
    lines = ["| split | " + " | ".join(groups) + " |", "|" + " --- |" * (len(groups) + 1)]
    lines += [
        f"| {split} | " + " | ".join(f"{counts[group]:,}" for group in groups) + " |"
        for split, counts in images.items()
    ]
    return "\n".join(lines)
