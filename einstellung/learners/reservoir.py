"""Reservoir sampling (Vitter, 1985): a buffer in which every image seen so far is equally likely to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.streams.stream import ImageSet


class Reservoir:
    """Raw images with identity, label and logits, on the CPU; what is replayed is augmented and painted anew."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self.images: ImageSet | None = None
        self.logits: Tensor | None = None

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, images: ImageSet, logits: Tensor, draws: torch.Generator) -> None:
        """Image number t (from 1) takes a random slot with probability capacity / t; the first ones fill the buffer."""
        if self.images is None:
            self.images = ImageSet(
                torch.zeros(self.capacity, *images.images.shape[1:], dtype=torch.uint8),
                torch.zeros(self.capacity, dtype=torch.long),
                torch.zeros(self.capacity, dtype=torch.long),
                torch.zeros(self.capacity, dtype=torch.bool),
            )
            self.logits = torch.zeros(self.capacity, logits.shape[1])
        logits = logits.cpu()
        lots = torch.rand(len(images), generator=draws, dtype=torch.float64)
        for row in range(len(images)):
            slot = self.seen if self.seen < self.capacity else int(lots[row] * (self.seen + 1))
            self.seen += 1
            if slot < self.capacity:
                self.images.images[slot] = images.images[row]
                self.images.labels[slot] = images.labels[row]
                self.images.index[slot] = images.index[row]
                self.images.bears[slot] = images.bears[row]
                self.logits[slot] = logits[row]

    def draw(self, count: int, draws: torch.Generator) -> tuple[ImageSet, Tensor]:
        """Up to ``count`` different entries."""
        assert self.images is not None, "drawn from an empty buffer"
        assert self.logits is not None
        rows = torch.randperm(len(self), generator=draws)[:count]
        return self.images.take(rows), self.logits[rows]

    def state_dict(self) -> dict[str, Any]:
        if self.images is None:
            return {"seen": self.seen}
        return {
            "seen": self.seen,
            "images": self.images.images,
            "labels": self.images.labels,
            "index": self.images.index,
            "bears": self.images.bears,
            "logits": self.logits,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.seen = state["seen"]
        if "images" in state:
            self.images = ImageSet(state["images"], state["labels"], state["index"], state["bears"])
            self.logits = state["logits"]
