"""``datasheet.md``: what to know before using a folder of composites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.composites.build import Composites
from einstellung.composites.sources import BACKGROUND, OBJECT, TARGET


def datasheet(composites: Composites, record: Mapping[str, Any]) -> str:
    """The sheet as Markdown."""
    labels, settings = composites.labels, record["settings"]
    background, co_object = composites.phases[0]
    total = sum(sum(groups.values()) for groups in record["images"].values())
    pairs = "\n".join(
        f"- {labels[TARGET][value]}: common with {labels[BACKGROUND][value]} backgrounds and {labels[OBJECT][value]} objects"
        for value in (0, 1)
    )
    return f"""# Datasheet: composites with two shortcuts

{total:,} pictures of {settings["size"]}x{settings["size"]} pixels, composed on {record["made"]}
by einstellung {record["einstellung"]} from {composites.words}.

## Motivation

To test whether a classifier of targets ({labels[TARGET][0]} or {labels[TARGET][1]}) relies on the background or on the
co-occurring object, and whether mitigating one shortcut amplifies the other. The procedure is that of UrbanCars ("A Whac-A-Mole
Dilemma: Shortcuts Come in Multiples Where Mitigating One Amplifies Others", Li et al., CVPR 2023); none of its pictures is used.

## Composition

{pairs}

In training the background is common in {background:.0%} of a class's images and the object in {co_object:.0%}, independently
of each other; in validation and test all groups have the same size.

{_table(record["images"])}

A group is named by its class (0 or 1) and by whether background and object are common (1) or not (0).

## Collection process

The target is cropped to its mask, its longer side is half of the canvas, and it is centred; the object's longer side is a
quarter, centred at half the height and .875 of the width; masks are binary. Within a split every target and every background is
used once, objects many times; no source is in two splits. Seed {settings["seed"]}: the same command gives the same pictures.

## Files

- `CASE/SPLIT/GROUP/NNN.jpg`: the picture; `NNN_mask.png`: the target; `NNN_co_occur_obj_mask.png`: the visible object;
  `NNN_bg_only.png`: the complete background. `CASE` is `bg-R_co_occur_obj-R`, with the correlations of training or 0.5.
- `contact_sheets/`: some pictures of every group. `made.json`: settings, labels and counts.

## Uses and limits

Accuracy on images distributed like the training images does not show whether the target was learned: compare the groups. The
pictures inherit the terms of use and the flaws of their sources.
"""


def _table(images: Mapping[str, Mapping[str, int]]) -> str:
    groups = list(images["test"])
    lines = ["| split | " + " | ".join(groups) + " |", "|" + " --- |" * (len(groups) + 1)]
    lines += [
        f"| {split} | " + " | ".join(f"{counts[group]:,}" for group in groups) + " |"
        for split, counts in images.items()
    ]
    return "\n".join(lines)
