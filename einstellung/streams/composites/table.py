"""Every composite of a stream by its identity: what it is made of, and the image that its parts, or changed ones, make."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from einstellung.composites.groups import Pattern
from einstellung.composites.lots import Numbers, Parts
from einstellung.composites.making import Composites
from einstellung.composites.sources import BACKGROUND, OBJECT
from einstellung.streams.stream import ImageSet


class Table:
    """The composites of all lots, one after the other: an image's identity is its row here.

    ``values`` [N, cues] are those of the sources' own labels; bit k of ``features`` is the value of cue k.
    """

    def __init__(self, composites: Composites) -> None:
        self.composites = composites
        self.layers = composites.layers
        lots = composites.lots
        self.parts = Parts.joined([lot.parts for lot in lots])
        self.labels = np.concatenate([lot.labels for lot in lots])
        self.lot = np.repeat(np.arange(len(lots)), [len(lot.labels) for lot in lots])
        self.values = composites.values(self.parts)
        self.features = (self.values << np.arange(len(composites.cues))).sum(axis=1)

    def rows(self, lot: str) -> Numbers:
        """The identities of a lot's images."""
        number = [one.name for one in self.composites.lots].index(lot)
        return np.flatnonzero(self.lot == number)

    def group(self, lot: str, label: int, pattern: Pattern) -> Numbers:
        """Those of one of its groups."""
        number = [one.name for one in self.composites.lots].index(lot)
        return self.rows(lot)[self.composites.rows_of(self.composites.lots[number], label, pattern)]

    def pool(self, lot: int, kind: str, value: int) -> Numbers:
        """The sources of a kind and value that a lot uses."""
        used = np.unique({BACKGROUND: self.parts.backgrounds, OBJECT: self.parts.objects}[kind][self.lot == lot])
        return np.asarray(used[self.layers.values[kind][used] == value])

    def images(self, rows: Numbers, parts: Parts | None = None, changed: int | Numbers = 0) -> ImageSet:
        """The images of these rows; from other ``parts``, which differ in the cues whose bits are in ``changed``."""
        pixels = self.layers.compose(self.parts.take(rows) if parts is None else parts)
        return ImageSet(
            torch.from_numpy(pixels),
            torch.from_numpy(self.labels[rows]),
            torch.from_numpy(rows),
            torch.zeros(len(rows), dtype=torch.bool),
            torch.from_numpy(self.features[rows] ^ changed),
        )

    def target_boxes(self, images: ImageSet) -> Tensor:
        """Top, left, bottom, right of the target in each image, the last two not within."""
        targets = self.parts.targets[images.index.cpu().numpy()]
        return torch.from_numpy(self.layers.target_boxes(targets))
