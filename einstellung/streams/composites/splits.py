"""Evaluation splits: every group of test and validation, and counterfactual twins of test images for every cue."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from einstellung.composites.groups import CuePattern, patterns
from einstellung.randomness import generator
from einstellung.streams.composites.interventions import Swap, covered
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.stream import EvaluationSplit, ImageSet


def group_names(prefix: str, cues: int) -> dict[str, tuple[int, CuePattern]]:
    """The group splits of a balanced set: label, and one digit per cue, 1 if it is common.

    >>> list(group_names("group", 1))
    ['group_0_1', 'group_0_0', 'group_1_1', 'group_1_0']
    """
    return {
        f"{prefix}_{label}_{''.join(map(str, pattern))}": (label, pattern)
        for label in (0, 1)
        for pattern in patterns(cues)
    }


def splits_of(
    table: CompositeTable, phases: Mapping[str, ImageSet], swaps: Mapping[str, Swap], seed: int
) -> list[EvaluationSplit]:
    """All evaluation splits of a stream; those that do not belong to a particular phase are assigned to the last one."""
    last = list(phases)[-1]
    validation, test = table.images(table.rows("val")), table.rows("test")
    splits = []
    for name, train in phases.items():
        # plans are shuffled, so the first images are a random sample
        some = train.take(torch.arange(min(len(test), len(train))))
        splits.append(EvaluationSplit(f"{name}_train", name, some))
        splits.append(EvaluationSplit(f"{name}_val", name, validation, always=True))
    cues = len(table.composites.cues)
    for plan, prefix in (("val", "val"), ("test", "group")):
        for name, (label, pattern) in group_names(prefix, cues).items():
            images = table.images(table.group(plan, label, pattern))
            splits.append(EvaluationSplit(name, last, images, always=True))
    for cue, swap in swaps.items():
        rows = test[table.values[test, swap.bit] == table.labels[test]]
        before = table.parts.take(rows)
        after = covered(before, cue)
        uniform = torch.rand(len(rows), generator=generator(seed, "twins", cue), dtype=torch.float64)
        twins = {
            "common": table.images(rows),
            "swapped": table.images(rows, swap.parts(rows, uniform.numpy()), 1 << swap.bit),
            # a covered background or object has no value, so its bit stays; a missing watermark has value 0
            "covered": table.images(rows, after, (before.marks - after.marks) << swap.bit),
        }
        splits += [EvaluationSplit(f"{cue}_{word}", last, images) for word, images in twins.items()]
    return splits
