"""Predictions for every picture, clean and under every condition, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import LabelledFiles, open_picture
from einstellung.composites.watermark_mask import watermarked
from einstellung.probes.watermark.conditions import WatermarkCondition

CLEAN = "clean"
_BATCH = 32
_SAMPLES = 6

OnProgress = Callable[[int, int], object]  # images done, total


@dataclass(frozen=True)
class Predictions:
    """Per image: whether the prediction was correct, and the probability of the class of interest."""

    correct: npt.NDArray[np.float64]
    p_class: npt.NDArray[np.float64]


def predict(
    classifier: Classifier,
    images: LabelledFiles,
    conditions: Sequence[WatermarkCondition],
    index: int,
    on_progress: OnProgress | None = None,
) -> tuple[dict[str, Predictions], npt.NDArray[np.float32]]:
    """Predictions by condition, ``clean`` first, and each class's gain in probability for every image.

    ``index`` is the class of interest. The gain [N, classes] is that of the first condition over the clean image.
    """
    names = [CLEAN, *(condition.name for condition in conditions)]
    correct, p_class = (np.empty((len(names), len(images))) for _ in range(2))
    gains = np.empty((len(images), classifier.classes), dtype=np.float32)
    for start in range(0, len(images), _BATCH):
        part = slice(start, start + _BATCH)
        clean = torch.stack([classifier.prepare(open_picture(file)) for file in images.files[part]])
        for row, condition in enumerate([None, *conditions]):
            shown = clean if condition is None else overlaid(clean, condition)
            probabilities = classifier.logits(shown).double().softmax(1).numpy()
            correct[row, part] = probabilities.argmax(1) == images.labels[part]
            p_class[row, part] = probabilities[:, index]
            if row == 0:
                before = probabilities
            elif row == 1:
                gains[part] = probabilities - before
        if on_progress is not None:
            on_progress(min(start + _BATCH, len(images)), len(images))
    return {name: Predictions(correct[row], p_class[row]) for row, name in enumerate(names)}, gains


def overlaid(images: torch.Tensor, condition: WatermarkCondition) -> torch.Tensor:
    """uint8 images with the condition's mask laid over them."""
    return torch.from_numpy(watermarked(images.numpy(), condition.opacity, condition.mask))


def samples(
    classifier: Classifier, images: LabelledFiles, conditions: Sequence[WatermarkCondition]
) -> tuple[dict[str, npt.NDArray[np.uint8]], list[str]]:
    """A few evenly spaced images, clean and under every condition (uint8 [N, H, W, 3]), and the names of their classes."""
    rows = np.unique(np.linspace(0, len(images) - 1, _SAMPLES).astype(int))
    clean = torch.stack([classifier.prepare(open_picture(images.files[row])) for row in rows])
    shown = {CLEAN: clean, **{condition.name: overlaid(clean, condition) for condition in conditions}}
    labels = [int(images.labels[row]) for row in rows]
    pixels = {name: np.ascontiguousarray(batch.numpy().transpose(0, 2, 3, 1)) for name, batch in shown.items()}
    return pixels, [images.names.get(label, str(label)) for label in labels]
