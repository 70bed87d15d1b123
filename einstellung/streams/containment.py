"""Splits whose images are all in another one, pixel for pixel: what a net says of them is known when that one is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from einstellung.streams.stream import EvaluationSplit, ImageSet

_TOGETHER = 64  # images compared at a time: those of other splits mostly differ at once


@dataclass(frozen=True)
class Within:
    """The split that holds the images of another, and its row for each of them."""

    home: EvaluationSplit
    rows: Tensor


def contained(splits: Sequence[EvaluationSplit]) -> dict[str, Within]:
    """Of each split that lies within an earlier one of its phase which is measured at least as often, where.

    A home lies within no other itself. Guests are always shown in the batches of their home, so that what is told of a split
    does not depend on which others are asked for; as the home is nearly always due with them, that costs nothing.
    """
    found: dict[str, Within] = {}
    homes: list[EvaluationSplit] = []
    for split in splits:
        for home in homes:
            if home.phase == split.phase and (home.always or not split.always):
                rows = rows_within(split.images, home.images)
                if rows is not None:
                    found[split.name] = Within(home, rows)
                    break
        else:
            homes.append(split)
    return found


def rows_within(images: ImageSet, others: ImageSet) -> Tensor | None:
    """For each image the row of its like among the others; None where one has none.

    Its like has its identity and is the same pixel for pixel: a twin has the one and not the other.
    """
    place = {identity: row for row, identity in enumerate(others.index.tolist())}
    rows = torch.tensor([place.get(identity, -1) for identity in images.index.tolist()])
    if not len(rows) or (rows < 0).any() or images.images.dtype != others.images.dtype:
        return None
    pairs = zip(images.images.split(_TOGETHER), rows.to(others.images.device).split(_TOGETHER), strict=True)
    return rows if all(torch.equal(some, others.images[at]) for some, at in pairs) else None
