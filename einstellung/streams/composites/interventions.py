"""One cue of a composite changed, and nothing else: swapped for one of the other value, or covered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from einstellung.composites.lots import NONE, Numbers, Parts
from einstellung.composites.sources import BACKGROUND, OBJECT
from einstellung.streams.composites.table import Table
from einstellung.streams.stream import ImageSet

_KINDS = {"background": BACKGROUND, "co-object": OBJECT}


class Swap:
    """The cue's other value: a background or co-object of those in the image's own lot, a watermark put on or taken off."""

    def __init__(self, table: Table, cue: str) -> None:
        self.table = table
        self.cue = cue
        self.bit = table.composites.cues.index(cue)
        if cue in _KINDS:
            pools = [
                [table.pool(lot, _KINDS[cue], value) for value in (0, 1)] for lot in range(len(table.composites.lots))
            ]
            # all pools in one row, so that a batch of any lots and values is one look-up
            self._pool = np.concatenate([pool for of_lot in pools for pool in of_lot])
            self._sizes = np.array([[len(pool) for pool in of_lot] for of_lot in pools])
            self._starts = np.cumsum(self._sizes).reshape(self._sizes.shape) - self._sizes

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        """The same images with another value of the cue; a partner is drawn anew for each.

        What else is in an image is known by its identity, so that one that was changed before cannot be changed again.
        """
        rows = images.index.numpy()
        if images.features is None or not np.array_equal(images.features.numpy(), self.table.features[rows]):
            raise ValueError(f"the {self.cue} can only be swapped in images as the stream has them")
        parts = self.parts(rows, torch.rand(len(rows), generator=draws, dtype=torch.float64).numpy())
        changed = self.table.images(rows, parts, 1 << self.bit)
        return replace(images, images=changed.images, features=changed.features)

    def parts(self, rows: Numbers, uniform: npt.NDArray[np.float64]) -> Parts:
        """What the images are made of after the swap; ``uniform``: a number in [0, 1) for each that chooses the partner."""
        parts = self.table.parts.take(rows)
        if self.cue not in _KINDS:
            return replace(parts, marks=1 - parts.marks)
        lots, values = self.table.lot[rows], 1 - self.table.values[rows, self.bit]
        chosen = self._pool[self._starts[lots, values] + (uniform * self._sizes[lots, values]).astype(np.int64)]
        return replace(parts, backgrounds=chosen) if self.cue == "background" else replace(parts, objects=chosen)


def covered(parts: Parts, cue: str) -> Parts:
    """Without the cue: a flat background of the mean colour, no co-object on the background, no watermark."""
    nothing = np.full(len(parts), NONE, dtype=np.int64)
    if cue == "background":
        return replace(parts, backgrounds=nothing)
    if cue == "co-object":
        return replace(parts, objects=nothing)
    return replace(parts, marks=np.zeros_like(parts.marks))
