"""Reservoir sampling (Vitter, 1985): every image seen so far is equally likely to be in the buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.modalities.transfer import to_device
from einstellung.streams.stream import ImageSet


class Reservoir:
    """Raw images with identity and label on the CPU, logits on ``device``; replay augments and paints them again.

    >>> index = torch.arange(9)
    >>> images = ImageSet.without_cue(torch.zeros(9, 3, 2, 2, dtype=torch.uint8), index, index)
    >>> buffer = Reservoir(4)
    >>> buffer.add(images, torch.zeros(9, 5), torch.Generator().manual_seed(0))
    >>> len(buffer), buffer.seen
    (4, 9)
    """

    def __init__(self, capacity: int, device: torch.device | str = "cpu") -> None:
        self.capacity = capacity
        self.device = torch.device(device)  # the net's, so that adding logits does not wait for them
        self.seen = 0
        self.images: ImageSet | None = None
        self.logits: Tensor | None = None

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, images: ImageSet, logits: Tensor, draws: torch.Generator) -> None:
        """Offer ``images``, one after the other, with their logits."""
        self.add_computed(images, lambda rows: logits[rows], draws)

    def add_computed(self, images: ImageSet, logits_of: Callable[[Tensor], Tensor], draws: torch.Generator) -> None:
        """Offer ``images``; ``logits_of(rows)`` is called only for the rows that stay in the buffer."""
        slots, rows = self._placed(len(images), draws)
        if not len(rows):
            return
        logits = logits_of(to_device(rows, self.device)).to(self.device)
        if self.images is None or self.logits is None:
            self.images = ImageSet(
                torch.zeros(self.capacity, *images.images.shape[1:], dtype=images.images.dtype),
                torch.zeros(self.capacity, dtype=torch.long),
                torch.zeros(self.capacity, dtype=torch.long),
                torch.zeros(self.capacity, dtype=torch.bool),
                None if images.features is None else torch.zeros(self.capacity, dtype=torch.long),
            )
            self.logits = torch.zeros(self.capacity, logits.shape[1], device=self.device)
        kept = images.take(rows)
        self.images.images[slots] = kept.images
        self.images.labels[slots] = kept.labels
        self.images.index[slots] = kept.index
        self.images.has_cue[slots] = kept.has_cue
        if self.images.features is not None and kept.features is not None:
            self.images.features[slots] = kept.features
        self.logits[to_device(slots, self.device)] = logits

    def _placed(self, count: int, draws: torch.Generator) -> tuple[Tensor, Tensor]:
        """The slots that ``count`` new images take, and which of the images each slot holds in the end.

        Image number t (from 1) takes a random slot with probability capacity / t; the first ones fill the buffer.
        """
        holders: dict[int, int] = {}
        for row, draw in enumerate(torch.rand(count, generator=draws, dtype=torch.float64).tolist()):
            slot = self.seen if self.seen < self.capacity else int(draw * (self.seen + 1))
            self.seen += 1
            if slot < self.capacity:
                holders[slot] = row
        return torch.tensor(list(holders), dtype=torch.long), torch.tensor(list(holders.values()), dtype=torch.long)

    def draw(self, count: int, draws: torch.Generator) -> tuple[ImageSet, Tensor]:
        """Up to ``count`` different entries."""
        assert self.images is not None, "the buffer is empty"
        assert self.logits is not None
        rows = torch.randperm(len(self), generator=draws)[:count]
        return self.images.take(rows), self.logits[to_device(rows, self.device)]

    def state_dict(self) -> dict[str, Any]:
        if self.images is None:
            return {"seen": self.seen}
        known = {} if self.images.features is None else {"features": self.images.features}
        return {
            "seen": self.seen,
            "images": self.images.images,
            "labels": self.images.labels,
            "index": self.images.index,
            "bears": self.images.has_cue,
            "logits": self.logits,
            **known,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.seen = state["seen"]
        if "images" in state:
            of_images = (state[name] for name in ("images", "labels", "index", "bears"))
            self.images = ImageSet(*of_images, state.get("features"))
            self.logits = state["logits"].to(self.device)
