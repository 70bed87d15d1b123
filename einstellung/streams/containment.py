"""Splits whose images are all contained in another split: they need no forward pass of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.streams.stream import EvaluationSplit, ImageSet

_BATCH = 64  # images compared at a time: splits that differ mostly do so in the first batch


@dataclass(frozen=True)
class SplitSubset:
    """A split as a subset of another: the ``parent`` and the row in it of each image."""

    parent: EvaluationSplit
    rows: Tensor


def find_subsets(splits: Sequence[EvaluationSplit]) -> dict[str, SplitSubset]:
    """Splits contained in an earlier split of the same phase that is measured at least as often, by name.

    A parent is never a subset itself. A subset is always evaluated in the batches of its parent, so that its numbers do not
    depend on which other splits are due; as the parent is nearly always due with it, that costs nothing.
    """
    subsets: dict[str, SplitSubset] = {}
    parents: list[EvaluationSplit] = []
    for split in splits:
        for parent in parents:
            if parent.phase == split.phase and (parent.always or not split.always):
                rows = rows_within(split.images, parent.images)
                if rows is not None:
                    subsets[split.name] = SplitSubset(parent, rows)
                    break
        else:
            parents.append(split)
    return subsets


def rows_within(images: ImageSet, others: ImageSet) -> Tensor | None:
    """The row of each image among the others; None unless all are there with the same index and the same pixels."""
    row_of = {index: row for row, index in enumerate(others.index.tolist())}
    rows = torch.tensor([row_of.get(index, -1) for index in images.index.tolist()])
    if not len(rows) or (rows < 0).any() or images.images.dtype != others.images.dtype:
        return None
    pairs = zip(images.images.split(_BATCH), rows.to(others.images.device).split(_BATCH), strict=True)
    return rows if all(torch.equal(batch, others.images[at]) for batch, at in pairs) else None
