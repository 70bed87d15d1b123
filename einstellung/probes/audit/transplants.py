"""Transplants: the effect of moving a region between images of different classes.

Pasting a box of an image of one class into one of another class shows two things at once: how much the donor's class gains
(the box *pulls*) and how much the recipient's class loses (what was there is *missed*). Nothing is painted, so all pixels come
from real images. A small region of an object pulls little and only between similar classes; a cue pulls in any recipient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.probes.audit.model import AuditedModel, Floats
from einstellung.probes.audit.windows import Box, pasted

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PredictedImages:
    """Images, labels and the model's predictions for the unmodified images.

    ``baseline``: a second model with its predictions. ``objects``: bool [N, 1, H, W], where the object to recognise is known.
    """

    model: AuditedModel
    images: Tensor
    labels: Ints
    before: Floats
    baseline: tuple[AuditedModel, Floats] | None = None
    objects: Tensor | None = None

    @classmethod
    def of(
        cls,
        model: AuditedModel,
        images: Tensor,
        labels: Ints,
        baseline: AuditedModel | None = None,
        objects: Tensor | None = None,
    ) -> PredictedImages:
        second = None if baseline is None else (baseline, baseline.probabilities(images))
        return cls(model, images, labels, model.probabilities(images), second, objects)

    def take(self, rows: npt.NDArray[np.int64]) -> PredictedImages:
        places = torch.from_numpy(rows)
        return PredictedImages(
            self.model,
            self.images[places],
            self.labels[rows],
            self.before[rows],
            None if self.baseline is None else (self.baseline[0], self.baseline[1][rows]),
            None if self.objects is None else self.objects[places],
        )

    @property
    def classes(self) -> list[int]:
        return sorted(set(self.labels.tolist()))

    def __len__(self) -> int:
        return len(self.labels)


def foreign_donors(labels: Ints, draws: np.random.Generator) -> Ints:
    """A donor of another class for every image, each image once where classes allow it.

    >>> labels = np.repeat([0, 1, 2], 4)
    >>> donors = foreign_donors(labels, np.random.default_rng(0))
    >>> bool((labels[donors] != labels).all()), sorted(donors.tolist()) == list(range(12))
    (True, True)
    """
    order = np.concatenate(
        [draws.permutation(np.flatnonzero(labels == label)) for label in draws.permutation(np.unique(labels))]
    )
    largest = int(np.bincount(labels).max())
    count = len(labels)
    donors = np.empty(count, dtype=np.int64)
    if 2 * largest <= count:
        donors[order] = order[(np.arange(count) + int(draws.integers(largest, count - largest + 1))) % count]
        return donors
    for label in np.unique(labels):  # one class has more than half of the images
        own = labels == label
        donors[own] = draws.choice(np.flatnonzero(~own), int(own.sum()))
    return donors


def of_the_same_class(labels: Ints, draws: np.random.Generator) -> Ints:
    """Another image of the same class for every image.

    >>> of_the_same_class(np.array([0, 1, 0, 1]), np.random.default_rng(0)).tolist()
    [2, 3, 0, 1]
    """
    partner = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = draws.permutation(np.flatnonzero(labels == label))
        partner[rows] = np.roll(rows, 1)
    return partner


@dataclass(frozen=True)
class TransplantMap:
    """For every window and image: the donor of its content, and the class probabilities afterwards."""

    windows: list[Box]
    donors: npt.NDArray[np.int64]  # [windows, N]
    after: Floats  # [windows, N, classes]

    def pull(self, predicted: PredictedImages, label: int, windows: slice | Sequence[int] = slice(None)) -> Doubles:
        """By window: what the class gains on average where its images are the donors."""
        return np.array([self._pull(predicted, place, label) for place in np.arange(len(self.windows))[windows]])

    def _pull(self, predicted: PredictedImages, place: int, label: int) -> float:
        rows = predicted.labels[self.donors[place]] == label
        return float((self.after[place, rows, label] - predicted.before[rows, label]).mean()) if rows.any() else 0.0

    def miss(self, predicted: PredictedImages, label: int) -> Doubles:
        """By window: what the class loses on average where its images are the recipients."""
        rows = np.flatnonzero(predicted.labels == label)
        return np.asarray((predicted.before[rows, label] - self.after[:, rows, label]).mean(axis=1), dtype=np.float64)

    def gains(self, predicted: PredictedImages) -> Doubles:
        """[N, windows]: what each image's class gains where the image is the donor; NaN where it was none."""
        found = np.full((len(predicted), len(self.windows)), np.nan)
        rows = np.arange(len(predicted))
        for place, donors in enumerate(self.donors):
            label = predicted.labels[donors]
            found[donors, place] = self.after[place, rows, label] - predicted.before[rows, label]
        return found


def transplant_map(predicted: PredictedImages, windows: Sequence[Box], draws: np.random.Generator) -> TransplantMap:
    """Paste every window of every image into an image of another class."""
    donors = np.stack([foreign_donors(predicted.labels, draws) for _ in windows])
    after = np.empty((len(windows), *predicted.before.shape), dtype=np.float32)
    for place, box in enumerate(windows):
        mixed = pasted(predicted.images, predicted.images[torch.from_numpy(donors[place])], box)
        after[place] = predicted.model.probabilities(mixed)
    return TransplantMap(list(windows), donors, after)


def pulls(
    predicted: PredictedImages,
    donors: Ints,
    boxes: Box | Sequence[Box],
    target: Sequence[int],
    each: int,
    draws: np.random.Generator,
) -> Doubles:
    """[donors, each]: what ``target`` (classes together) gains when each donor's box is pasted into images of other classes."""
    outside = np.flatnonzero(~np.isin(predicted.labels, target))
    recipients = np.stack(
        [draws.choice(outside, len(donors), replace=len(outside) < len(donors)) for _ in range(each)], axis=1
    )
    givers = predicted.images[torch.from_numpy(donors)].repeat_interleave(each, dim=0)
    spread = boxes if isinstance(boxes, tuple) else [box for box in boxes for _ in range(each)]
    mixed = pasted(predicted.images[torch.from_numpy(recipients.reshape(-1))], givers, spread)
    after = predicted.model.probabilities(mixed)[:, list(target)].sum(axis=1).reshape(recipients.shape)
    before = predicted.before[:, list(target)].sum(axis=1)[recipients]
    return np.asarray(after - before, dtype=np.float64)
