"""All composites of a stream by identity: their parts, and the images composed from these or from changed parts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from einstellung.composites.build import Composites
from einstellung.composites.groups import CuePattern
from einstellung.composites.sources import BACKGROUND, OBJECT
from einstellung.composites.split_plan import Numbers, Parts
from einstellung.streams.stream import ImageSet


class CompositeTable:
    """The composites of all plans, concatenated: an image's identity is its row here.

    ``values`` [N, cues] come from the labels of the sources; bit k of ``features`` is the value of cue k.
    """

    def __init__(self, composites: Composites) -> None:
        self.composites = composites
        self.layers = composites.layers
        plans = composites.plans
        self.parts = Parts.joined([plan.parts for plan in plans])
        self.labels = np.concatenate([plan.labels for plan in plans])
        self.plan_number = np.repeat(np.arange(len(plans)), [len(plan.labels) for plan in plans])
        self.values = composites.values(self.parts)
        self.features = (self.values << np.arange(len(composites.cues))).sum(axis=1)

    def rows(self, plan: str) -> Numbers:
        """The identities of a plan's images, by its name."""
        return np.flatnonzero(self.plan_number == self._number(plan))

    def group(self, plan: str, label: int, pattern: CuePattern) -> Numbers:
        """The identities of one group of a plan."""
        return self.rows(plan)[self.composites.group_rows(self.composites.plans[self._number(plan)], label, pattern)]

    def pool(self, plan_number: int, kind: str, value: int) -> Numbers:
        """The sources of a kind and value that a plan uses."""
        sources = {BACKGROUND: self.parts.backgrounds, OBJECT: self.parts.objects}[kind]
        used = np.unique(sources[self.plan_number == plan_number])
        return np.asarray(used[self.layers.values[kind][used] == value])

    def test_objects(self) -> dict[str, tuple[int, ...]]:
        """The co-object of every test image, and its value: few objects recur in many images."""
        rows = self.rows("test")
        objects = self.parts.objects[rows]
        columns = {"index": rows, "source": objects, "value": self.layers.values[OBJECT][objects]}
        return {name: tuple(column.tolist()) for name, column in columns.items()}

    def images(self, rows: Numbers, parts: Parts | None = None, changed: int | Numbers = 0) -> ImageSet:
        """The images of these rows, or of other ``parts``; the bits of ``changed`` are the cues in which those differ."""
        pixels = self.layers.compose(self.parts.take(rows) if parts is None else parts)
        return ImageSet(
            torch.from_numpy(pixels),
            torch.from_numpy(self.labels[rows]),
            torch.from_numpy(rows),
            torch.zeros(len(rows), dtype=torch.bool),
            torch.from_numpy(self.features[rows] ^ changed),
        )

    def target_boxes(self, images: ImageSet) -> Tensor:
        """Top, left, bottom and right of each image's target; bottom and right are exclusive."""
        targets = self.parts.targets[images.index.cpu().numpy()]
        return torch.from_numpy(self.layers.target_boxes(targets))

    def _number(self, plan: str) -> int:
        return [one.name for one in self.composites.plans].index(plan)
