"""Features of pictures, clean and watermarked, cached by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from einstellung.classifiers import Extractor
from einstellung.classifiers.labelled import LabelledFiles, open_picture
from einstellung.composites.watermark_mask import watermarked as published
from einstellung.files import digest
from einstellung.learners.mitigation.wtm_aug import watermarked as under_random_characters
from einstellung.randomness import generator
from einstellung.sources.cache import cached
from einstellung.sources.reading import file_hash

_LAYOUT = 1
_BATCH = 64

OnProgress = Callable[[int, int], object]  # pictures done, total


@dataclass(frozen=True)
class View:
    """A transformation of uint8 batches with a unique name; its second argument is the row of the batch's first picture."""

    name: str
    apply: Callable[[Tensor, int], Tensor]


CLEAN = View("clean", lambda images, start: images)
WATERMARK = View("watermark", lambda images, start: torch.from_numpy(published(images.numpy())))


def random_characters(font: Path, seed: int, draw: int) -> View:
    """WTM Aug: eight random characters on every picture; ``draw`` numbers the versions of the same pictures."""
    return View(
        f"random characters {file_hash(font, 'sha256')} {seed} {draw}",
        lambda images, start: under_random_characters(images, font, generator(seed, "random characters", draw, start)),
    )


def features(extractor: Extractor, images: LabelledFiles, view: View, on_progress: OnProgress) -> Tensor:
    """float32 [N, width]; computed once per content of pictures, weights and view, independent of file names."""
    key = digest([_LAYOUT, extractor.digest, view.name, list(images.contents)], length=32)
    arrays = cached(f"features-{key}", lambda: {"features": _compute(extractor, images, view, on_progress)})
    return torch.from_numpy(arrays["features"])


def _compute(extractor: Extractor, images: LabelledFiles, view: View, on_progress: OnProgress) -> np.ndarray:
    parts = []
    for start in range(0, len(images), _BATCH):
        batch = torch.stack(
            [extractor.classifier.prepare(open_picture(file)) for file in images.files[start : start + _BATCH]]
        )
        parts.append(extractor.features(view.apply(batch, start)).numpy())
        on_progress(min(start + _BATCH, len(images)), len(images))
    return np.concatenate(parts)
