"""Features of pictures as they are and under watermarks, computed once and kept by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from einstellung.classifiers import Extractor
from einstellung.classifiers.labelled import Labelled, opened
from einstellung.composites.watermark_mask import watermarked as published
from einstellung.files import digest
from einstellung.learners.mitigation.wtm_aug import watermarked as under_random_characters
from einstellung.randomness import generator
from einstellung.sources.cache import cached
from einstellung.sources.reading import file_hash

_LAYOUT = 1
_BATCH = 64

Heard = Callable[[int, int], object]


@dataclass(frozen=True)
class View:
    """What is done to a batch of bytes, and a name that no other view has; ``start``: the batch's first picture."""

    name: str
    of: Callable[[Tensor, int], Tensor]


CLEAN = View("clean", lambda images, start: images)
WATERMARK = View("watermark", lambda images, start: torch.from_numpy(published(images.numpy())))


def random_characters(font: Path, seed: int, draw: int) -> View:
    """WTM Aug: eight random characters, drawn for every picture; ``draw``: one of several drawings of the same pictures."""
    return View(
        f"random characters {file_hash(font, 'sha256')} {seed} {draw}",
        lambda images, start: under_random_characters(images, font, generator(seed, "random characters", draw, start)),
    )


def features(extractor: Extractor, images: Labelled, view: View, heard: Heard) -> Tensor:
    """float32 [N, width]; equal pictures, weights and view are computed once, whatever the files are called."""
    key = digest([_LAYOUT, extractor.digest, view.name, list(images.contents)], length=32)
    arrays = cached(f"features-{key}", lambda: {"features": _computed(extractor, images, view, heard)})
    return torch.from_numpy(arrays["features"])


def _computed(extractor: Extractor, images: Labelled, view: View, heard: Heard) -> np.ndarray:
    parts = []
    for start in range(0, len(images), _BATCH):
        batch = torch.stack(
            [extractor.classifier.prepare(opened(file)) for file in images.files[start : start + _BATCH]]
        )
        parts.append(extractor.features(view.of(batch, start)).numpy())
        heard(min(start + _BATCH, len(images)), len(images))
    return np.concatenate(parts)
