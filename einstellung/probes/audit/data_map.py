"""The data map: how well one small window, or one simple property of an image, predicts its label without any model.

A leave-one-out nearest-neighbour classifier on the window's pixels: an image counts where all of its neighbours are of its
class, which also finds content that recurs in only some of a class's images. The null distribution is that of the largest value
over all windows, properties and classes under shuffled labels. Windows predict objects too; a cue differs in that one window
predicts its class far better than all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.probes.audit.transplants import Doubles, Ints
from einstellung.probes.audit.windows import Box, grid, overlap, side_of

NEIGHBOURS = 5
SHUFFLES = 99
_MOST_QUERIES, _MOST_IMAGES = 1500, 10_000
_POOLED = 3  # a window is averaged to 3x3 pixels: enough for a patch, too little for an object
_SEED = 20_261_118


@dataclass(frozen=True)
class WindowScore:
    """How well a window, or a property of images (``feature``), predicts one class: the share of its images whose neighbours are
    all of that class.

    ``chance``: the mean under shuffled labels; ``null``: the 95 % quantile, over shuffles, of the largest value in the map;
    ``elsewhere``: the best window that does not overlap this one (None for a property); ``distant``: the best at least one window
    away, because a cue on the edge of two windows is in both.
    """

    label: int
    window: Box | None
    feature: str | None
    value: float
    chance: float
    null: float
    elsewhere: float | None
    distant: float = 0.0

    @property
    def significant(self) -> bool:
        return self.value > self.null


@dataclass(frozen=True)
class DataMap:
    """Values by class and window [classes, windows], by property, and the null of their maximum."""

    classes: tuple[int, ...]
    windows: tuple[Box, ...]
    values: Doubles
    properties: Mapping[str, Doubles]
    chance: Doubles
    null: float  # of the largest value minus its chance
    queries: int

    def best(self, label: int) -> WindowScore:
        """The window that predicts a class best."""
        row = self.classes.index(label)
        place = int(self.values[row].argmax())
        top, left, tall, wide = self.windows[place]
        near = (top - tall, left - wide, 3 * tall, 3 * wide)
        pairs = list(zip(self.values[row], self.windows, strict=True))
        elsewhere = [float(value) for value, window in pairs if overlap(window, self.windows[place]) == 0]
        distant = [float(value) for value, window in pairs if overlap(window, near) == 0]
        chance = float(self.chance[row])
        return WindowScore(
            label,
            self.windows[place],
            None,
            float(self.values[row, place]),
            chance,
            chance + self.null,
            max(elsewhere, default=None),
            max(distant, default=0.0),
        )

    def properties_of(self, label: int) -> list[WindowScore]:
        row = self.classes.index(label)
        chance = float(self.chance[row])
        return [
            WindowScore(label, None, name, float(values[row]), chance, chance + self.null, None)
            for name, values in self.properties.items()
        ]


def data_map(images: Tensor, labels: Ints, budget: float = 0.05, file_sizes: Sequence[int] | None = None) -> DataMap:
    """The map of some labelled images (uint8 [N, C, H, W]); at most :data:`_MOST_IMAGES`, drawn at random."""
    draws = np.random.default_rng(_SEED)
    if len(labels) > _MOST_IMAGES:
        kept = np.sort(draws.choice(len(labels), _MOST_IMAGES, replace=False))
        images, labels = images[torch.from_numpy(kept)], labels[kept]
        file_sizes = None if file_sizes is None else [file_sizes[place] for place in kept]
    queries = np.arange(len(labels))
    if len(queries) > _MOST_QUERIES:
        queries = np.sort(draws.choice(queries, _MOST_QUERIES, replace=False))
    height, width = images.shape[-2:]
    windows = grid(height, width, side_of(budget, height, width))
    classes = tuple(int(one) for one in np.unique(labels))
    shuffled = np.stack([draws.permutation(labels) for _ in range(SHUFFLES)])
    counts = np.array([(labels == label).sum() for label in classes])
    chance = ((counts - 1) / (len(labels) - 1)) ** NEIGHBOURS
    largest = np.full(SHUFFLES, -np.inf)
    values = np.empty((len(classes), len(windows)))
    for place, window in enumerate(windows):
        near = _neighbours(_window_features(images, window), queries)
        values[:, place] = _by_class(near, queries, labels, classes)
        _raise(largest, near, queries, shuffled, classes, chance)
    found = {}
    for name, features in _properties(images, file_sizes).items():
        near = _neighbours(features, queries)
        found[name] = _by_class(near, queries, labels, classes)
        _raise(largest, near, queries, shuffled, classes, chance)
    null = float(np.sort(largest)[-int(0.05 * (SHUFFLES + 1))])
    return DataMap(classes, tuple(windows), values, found, chance, null, len(queries))


def _window_features(images: Tensor, window: Box) -> Tensor:
    top, left, height, width = window
    cut = images[..., top : top + height, left : left + width].float()
    return F.adaptive_avg_pool2d(cut, min(_POOLED, height)).flatten(1)


def _properties(images: Tensor, file_sizes: Sequence[int] | None) -> dict[str, Tensor]:
    """Colour (channel means), brightness and contrast, sharpness, the border, and the file's size."""
    values = images.float()
    grey = values.mean(dim=1)
    across, down = grey.diff(dim=2).abs().mean(dim=(1, 2)), grey.diff(dim=1).abs().mean(dim=(1, 2))
    edge = max(1, images.shape[-1] // 16)
    border = torch.stack(
        [
            part.mean(dim=(-2, -1))
            for part in (values[..., :edge, :], values[..., -edge:, :], values[..., :edge], values[..., -edge:])
        ],
        dim=1,
    ).flatten(1)
    found = {
        "colour": values.mean(dim=(2, 3)) - grey.mean(dim=(1, 2)).unsqueeze(1),
        "brightness": torch.stack([grey.mean(dim=(1, 2)), grey.std(dim=(1, 2))], dim=1),
        "sharpness": torch.stack([across, down], dim=1).clamp(min=1e-3).log() * 64,
        "border": border,
    }
    if file_sizes is not None:
        found["file size"] = torch.tensor(file_sizes, dtype=torch.float32).clamp(min=1).log().unsqueeze(1) * 64
    return found


def _neighbours(features: Tensor, queries: Ints) -> Ints:
    """The nearest images of each query, itself excluded; ties broken by image order would favour neighbours in the table."""
    noise = torch.rand(features.shape, generator=torch.Generator().manual_seed(_SEED)) * 1e-2
    features = features + noise
    found = []
    squares = features.square().sum(dim=1)
    for part in torch.from_numpy(queries).split(500):
        distance = squares.unsqueeze(0) - 2 * features[part] @ features.T
        distance[torch.arange(len(part)), part] = torch.inf
        found.append(distance.topk(NEIGHBOURS, dim=1, largest=False).indices)
    return np.asarray(torch.cat(found).numpy())


def _by_class(near: Ints, queries: Ints, labels: Ints, classes: Sequence[int]) -> Doubles:
    found: Doubles = _of_shuffles(near, queries, labels[None], classes)[0]
    return found


def _of_shuffles(near: Ints, queries: Ints, labels: Ints, classes: Sequence[int]) -> Doubles:
    """[shuffles, classes] of labels [shuffles, N]: the share of a class's images whose neighbours are all of their class."""
    own = labels[:, queries]
    predicted = np.ones(own.shape, dtype=bool)
    for rank in range(near.shape[1]):
        predicted &= labels[:, near[:, rank]] == own
    shares = []
    for label in classes:
        members = own == label
        shares.append((predicted & members).sum(axis=1) / np.maximum(members.sum(axis=1), 1))
    return np.stack(shares, axis=1)


def _raise(
    largest: Doubles, near: Ints, queries: Ints, shuffled: Ints, classes: Sequence[int], chance: Doubles
) -> None:
    """Include this window in the null's maxima."""
    np.maximum(largest, (_of_shuffles(near, queries, shuffled, classes) - chance).max(axis=1), out=largest)
