"""Splits whose images are all contained in another split: they need no forward pass of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.streams.stream import EvaluationSplit, ImageSet

_BATCH = 64  # images compared at a time: splits that differ mostly do so in the first batch


@dataclass(frozen=True)
class ContainedSplit:
    """A split as a subset of another: the ``container`` and the row in it of each image."""

    container: EvaluationSplit
    rows: Tensor


def contained_splits(splits: Sequence[EvaluationSplit]) -> dict[str, ContainedSplit]:
    """Splits contained in an earlier split of the same phase that is measured at least as often, by name.

    A container is never contained itself. A contained split is always evaluated in the batches of its container, so that its
    numbers do not depend on which other splits are due; as the container is nearly always due with it, that costs nothing.
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
    """The row of each image among the others; None unless all are there with the same index and the same pixels."""
    row_of = {index: row for row, index in enumerate(others.index.tolist())}
    rows = torch.tensor([row_of.get(index, -1) for index in images.index.tolist()])
    if not len(rows) or (rows < 0).any() or images.images.dtype != others.images.dtype:
        return None
    pairs = zip(images.images.split(_BATCH), rows.to(others.images.device).split(_BATCH), strict=True)
    return rows if all(torch.equal(batch, others.images[at]) for batch, at in pairs) else None
