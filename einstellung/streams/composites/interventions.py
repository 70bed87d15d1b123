"""Interventions on one cue of a composite: swap its value, or cover it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from einstellung.composites.sources import BACKGROUND, OBJECT
from einstellung.composites.split_plan import NONE, Numbers, Parts
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.stream import ImageSet

_KINDS = {"background": BACKGROUND, "co-object": OBJECT}


class Swap:
    """Swap a cue: another background or co-object from the image's own split, or toggle the watermark."""

    def __init__(self, table: CompositeTable, cue: str) -> None:
        self.table = table
        self.cue = cue
        self.bit = table.composites.cues.index(cue)
        if cue in _KINDS:
            pools = [
                [table.pool(plan, _KINDS[cue], value) for value in (0, 1)]
                for plan in range(len(table.composites.plans))
            ]
            # all pools concatenated, so that a mixed batch is one look-up
            self._pool = np.concatenate([pool for of_plan in pools for pool in of_plan])
            self._sizes = np.array([[len(pool) for pool in of_plan] for of_plan in pools])
            self._starts = np.cumsum(self._sizes).reshape(self._sizes.shape) - self._sizes

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        """The same images with the cue's other value; a new partner is drawn for each.

        The other parts are looked up by identity, so an image that was changed before cannot be changed again.
        """
        rows = images.index.numpy()
        if images.features is None or not np.array_equal(images.features.numpy(), self.table.features[rows]):
            raise ValueError(f"the {self.cue} can only be swapped in unchanged images of the stream")
        parts = self.parts(rows, torch.rand(len(rows), generator=draws, dtype=torch.float64).numpy())
        changed = self.table.images(rows, parts, 1 << self.bit)
        return replace(images, images=changed.images, features=changed.features)

    def parts(self, rows: Numbers, uniform: npt.NDArray[np.float64]) -> Parts:
        """The parts after the swap; ``uniform`` holds a number in [0, 1) per image that selects the partner."""
        parts = self.table.parts.take(rows)
        if self.cue not in _KINDS:
            return replace(parts, marks=1 - parts.marks)
        plans, values = self.table.plan_number[rows], 1 - self.table.values[rows, self.bit]
        chosen = self._pool[self._starts[plans, values] + (uniform * self._sizes[plans, values]).astype(np.int64)]
        return replace(parts, backgrounds=chosen) if self.cue == "background" else replace(parts, objects=chosen)


def covered(parts: Parts, cue: str) -> Parts:
    """Remove the cue: a flat background of the mean colour, no co-object, no watermark."""
    nothing = np.full(len(parts), NONE, dtype=np.int64)
    if cue == "background":
        return replace(parts, backgrounds=nothing)
    if cue == "co-object":
        return replace(parts, objects=nothing)
    return replace(parts, marks=np.zeros_like(parts.marks))
