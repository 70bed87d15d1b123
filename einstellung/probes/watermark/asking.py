"""One pass over the pictures: every one is prepared once, and shown clean and under every condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import Labelled, opened
from einstellung.composites.watermark_mask import watermarked
from einstellung.probes.watermark.conditions import Condition

CLEAN = "clean"
_BATCH = 32
_SAMPLES = 6

Heard = Callable[[int, int], object]


@dataclass(frozen=True)
class Answers:
    """Per image whether the class was right, and how probable the class asked about was."""

    correct: npt.NDArray[np.float64]
    p_class: npt.NDArray[np.float64]


def ask(
    classifier: Classifier, images: Labelled, conditions: Sequence[Condition], index: int, heard: Heard | None = None
) -> tuple[dict[str, Answers], npt.NDArray[np.float32]]:
    """Answers by the name of the condition, ``clean`` first, and how much every class gains in every image.

    The gain [N, classes] is that of the first condition against the clean image. ``heard`` is told how many images are done.
    """
    names = [CLEAN, *(condition.name for condition in conditions)]
    correct, p_class = (np.empty((len(names), len(images))) for _ in range(2))
    gains = np.empty((len(images), classifier.classes), dtype=np.float32)
    for start in range(0, len(images), _BATCH):
        part = slice(start, start + _BATCH)
        clean = torch.stack([classifier.prepare(opened(file)) for file in images.files[part]])
        for row, condition in enumerate([None, *conditions]):
            shown = clean if condition is None else overlaid(clean, condition)
            probabilities = classifier.logits(shown).double().softmax(1).numpy()
            correct[row, part] = probabilities.argmax(1) == images.labels[part]
            p_class[row, part] = probabilities[:, index]
            if row == 0:
                before = probabilities
            elif row == 1:
                gains[part] = probabilities - before
        if heard is not None:
            heard(min(start + _BATCH, len(images)), len(images))
    return {name: Answers(correct[row], p_class[row]) for row, name in enumerate(names)}, gains


def overlaid(images: torch.Tensor, condition: Condition) -> torch.Tensor:
    """uint8 images under the condition's mask."""
    return torch.from_numpy(watermarked(images.numpy(), condition.opacity, condition.mask))


def samples(
    classifier: Classifier, images: Labelled, conditions: Sequence[Condition]
) -> tuple[dict[str, npt.NDArray[np.uint8]], list[str]]:
    """A few images, evenly spaced, clean and under every condition (uint8 [N, H, W, 3]), and the names of their classes."""
    places = np.unique(np.linspace(0, len(images) - 1, _SAMPLES).astype(int))
    clean = torch.stack([classifier.prepare(opened(images.files[place])) for place in places])
    shown = {CLEAN: clean, **{condition.name: overlaid(clean, condition) for condition in conditions}}
    labels = [int(images.labels[place]) for place in places]
    pixels = {name: np.ascontiguousarray(batch.numpy().transpose(0, 2, 3, 1)) for name, batch in shown.items()}
    return pixels, [images.names.get(label, str(label)) for label in labels]
