"""The images of a phase or a split, as data sets for a DataLoader and as batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.data import Dataset

from einstellung.errors import InputError
from einstellung.randomness import generator
from einstellung.streams import ImageSet, Presentation


class SplitImages(Dataset[tuple[Tensor, int]]):
    """Images of a split as (input, label), with the cue as the split shows it."""

    def __init__(self, images: ImageSet, presentation: Presentation) -> None:
        self.images = images
        self._presentation = presentation

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self.__getitems__([row % len(self)])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[tuple[Tensor, int]]:
        """Several at once, which a DataLoader asks for a batch."""
        inputs, labels = self._inputs(self.images.take(torch.as_tensor(rows)))
        return list(zip(inputs, labels.tolist(), strict=True))

    def tensors(self) -> tuple[Tensor, Tensor]:
        """All inputs and labels."""
        return self._inputs(self.images)

    def _inputs(self, images: ImageSet) -> tuple[Tensor, Tensor]:
        return self._presentation.normalised(images.images), images.labels


class PhaseImages(SplitImages):
    """Training images of a phase as (input, label), with the cue on those that have it.

    As a data set it augments nothing: a transform that crops after the cue was painted would move it. :meth:`batches` augments
    before the cue is painted, as our own learners do.
    """

    def __init__(self, images: ImageSet, presentation: Presentation, phase: str) -> None:
        super().__init__(images, presentation)
        self.phase = phase

    @property
    def has_cue(self) -> Tensor:
        """A bool for every image."""
        return self.images.has_cue

    def batches(self, batch_size: int = 32, *, epoch: int = 0, seed: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of an epoch: shuffled and augmented, the same for the same epoch and seed."""
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}: it must be at least 1")
        order = torch.randperm(len(self), generator=generator(seed, "own-order", self.phase, epoch))
        draws, cue = (generator(seed, purpose, self.phase, epoch) for purpose in ("own-augmentation", "own-cue"))
        for rows in order.split(batch_size):
            images = self.images.take(rows)
            yield self._presentation.training(images, draws, cue), images.labels

    def _inputs(self, images: ImageSet) -> tuple[Tensor, Tensor]:
        return self._presentation.unaugmented(images), images.labels
