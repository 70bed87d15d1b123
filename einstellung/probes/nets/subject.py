"""A net of a run, the data it is probed on, and the nets it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from torch import nn

from einstellung.metrics.similarity import FloatArray, linear_gram
from einstellung.probes.nets.layers import Observation, observe
from einstellung.streams import ImageSet, Presentation, Stream

IntArray = npt.NDArray[np.int64]
MOST_IMAGES = 400  # of a split whose representations are compared; at equal distances


@dataclass
class ProbedNet:
    """A net, how its inputs are made, and the predictions that its run stored (None: computed when needed)."""

    net: nn.Module
    stream: Stream
    presentation: Presentation
    autocast: Callable[[], AbstractContextManager[Any]]
    batch_size: int
    stored: pd.DataFrame | None = None
    _seen: dict[str, Observation] = field(default_factory=dict)
    _grams: dict[tuple[tuple[str, ...], str], FloatArray] = field(default_factory=dict)
    _kept: dict[str, float] = field(default_factory=dict)

    @cached_property
    def splits(self) -> frozenset[str]:
        return frozenset(split.name for split in self.stream.splits)

    def images(self, split: str) -> ImageSet:
        return self.stream.split(split).images

    def labels(self, split: str) -> IntArray:
        labels: IntArray = self.images(split).labels.numpy()
        return labels

    def observed(self, split: str) -> Observation:
        """What the net computes on a split; kept for the next probe."""
        if split not in self._seen:
            pixels = self.images(split).images
            rows = np.zeros(len(pixels), dtype=bool)
            rows[np.linspace(0, len(pixels) - 1, min(MOST_IMAGES, len(pixels))).astype(int)] = True
            with self.autocast():
                batches = (self.presentation.normalised(part) for part in pixels.split(self.batch_size))
                self._seen[split] = observe(self.net, batches, rows)
        return self._seen[split]

    def gram(self, splits: tuple[str, ...], layer: str) -> FloatArray:
        """The Gram matrix of a layer on the images of some splits together."""
        if (splits, layer) not in self._grams:
            features = np.concatenate([self.observed(split).layers[layer] for split in splits])
            self._grams[splits, layer] = linear_gram(features)
        return self._grams[splits, layer]

    def kept(self, name: str, compute: Callable[[], float]) -> float:
        """A number that is computed once: several runs share the net after T1."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    def predictions(self, split: str) -> IntArray:
        """The stored predictions of the same images, otherwise the net's own."""
        if self.stored is not None:
            rows = self.stored[self.stored["split"] == split]
            if np.array_equal(rows["index"].to_numpy(), self.images(split).index.numpy()):
                stored: IntArray = rows["prediction"].to_numpy(dtype=np.int64)
                return stored
        predicted: IntArray = self.observed(split).logits.argmax(axis=1).astype(np.int64)
        return predicted

    def correct(self, split: str) -> npt.NDArray[np.bool_]:
        right: npt.NDArray[np.bool_] = self.predictions(split) == self.labels(split)
        return right


@dataclass(frozen=True)
class Subject:
    """The net of a run after T2, after T1 (None: it has no history), as it was initialised, and the baseline's of its seed."""

    seed: int
    net: ProbedNet
    first: ProbedNet | None = None
    fresh: ProbedNet | None = None
    baseline: ProbedNet | None = None
