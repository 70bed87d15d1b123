"""Evaluation splits whose images are all contained in another split: their predictions need no forward pass of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.streams.stream import EvaluationSplit, ImageSet

_CHUNK = 64  # images compared at a time: different splits mostly differ in the first few


@dataclass(frozen=True)
class ContainedSplit:
    """Where the images of a split are: the split that contains them, and the row of each image in it."""

    container: EvaluationSplit
    rows: Tensor


def contained_splits(splits: Sequence[EvaluationSplit]) -> dict[str, ContainedSplit]:
    """Find every split that is contained in an earlier split of its phase which is evaluated at least as often.

    A container is never contained itself. A contained split is always evaluated in the batches of its container, so that its
    result does not depend on which other splits are evaluated. The container is nearly always due as well, so this costs nothing.
    """
    found: dict[str, ContainedSplit] = {}
    containers: list[EvaluationSplit] = []
    for split in splits:
        for container in containers:
            if container.phase == split.phase and (container.always or not split.always):
                rows = rows_within(split.images, container.images)
                if rows is not None:
                    found[split.name] = ContainedSplit(container, rows)
                    break
        else:
            containers.append(split)
    return found


def rows_within(images: ImageSet, others: ImageSet) -> Tensor | None:
    """The row of each image among the others, or None if one is missing.

    Images match if identity and all pixels are equal: a twin has the same identity but other pixels.
    """
    row_of = {identity: row for row, identity in enumerate(others.index.tolist())}
    rows = torch.tensor([row_of.get(identity, -1) for identity in images.index.tolist()])
    if not len(rows) or (rows < 0).any() or images.images.dtype != others.images.dtype:
        return None
    pairs = zip(images.images.split(_CHUNK), rows.to(others.images.device).split(_CHUNK), strict=True)
    return rows if all(torch.equal(some, others.images[at]) for some, at in pairs) else None
