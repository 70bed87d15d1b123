"""From Mammoth's raw images to a net's input: crop and flip, then the cue, then normalisation.

Mammoth passes only the image to its transforms, and its buffers replay the raw image. So an image's index, and with it whether
and where it has the cue, is looked up by its bytes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.streams import ImageSet, Presentation, Stream


class TrainingImages:
    """Looks up training images of a stream by their content.

    Duplicates are looked up as the first of them; they are refused if only one of them has the cue.
    """

    def __init__(self, stream: Stream) -> None:
        self.images = ImageSet.joined([phase.train for phase in stream.phases])
        self._rows: dict[bytes, int] = {}
        for row, key in enumerate(_keys(self.images.images)):
            first = self._rows.setdefault(key, row)
            if bool(self.images.has_cue[first] != self.images.has_cue[row]):
                raise InputError(
                    f"training images {int(self.images.index[first])} and {int(self.images.index[row])} of {stream.name} are "
                    "identical, but only one has the cue: replay cannot distinguish them"
                )

    def known(self, pixels: Tensor) -> tuple[Tensor, ImageSet]:
        """Which of the images (uint8 [N, 3, H, W]) are training images, and these as an image set."""
        rows = torch.tensor([self._rows.get(key, -1) for key in _keys(pixels)], dtype=torch.long)
        return rows >= 0, self.images.take(rows[rows >= 0])


class MammothPresentation:
    """The stream's own presentation, for images in the forms that Mammoth passes around.

    The input is a PIL image, a uint8 tensor or floats in 0..1; a single image or a batch. The output has the same number of
    dimensions and is on the same device.
    """

    def __init__(self, stream: Stream) -> None:
        self.presentation = Presentation(stream)
        self.training_images = TrainingImages(stream)

    def augmented(self, images: Any) -> Tensor:
        """Cropped and flipped (with torch's global generator, like Mammoth), with the cue, normalised."""
        pixels = _pixels(images)
        is_known, known = self.training_images.known(pixels)
        if not bool(is_known.all()):
            raise InputError(
                "Mammoth's transform got an image that is not a training image of the stream, so the place of its cue is "
                "unknown: methods that change images before replay are not supported"
            )
        draws = torch.default_generator
        return _like(images, self.presentation.training(known, draws, draws))

    def unaugmented(self, images: Any) -> Tensor:
        """Training images with their cue, normalised; other images are only normalised."""
        pixels = _pixels(images)
        is_known, known = self.training_images.known(pixels)
        if bool(is_known.all()):
            return _like(images, self.presentation.unaugmented(known))
        if bool(is_known.any()):
            pixels[is_known] = self.presentation.painted(known.images, known)
            return _like(images, self.presentation.normalised(pixels))
        return self.normalised(images)

    def normalised(self, images: Any) -> Tensor:
        """Normalised only: for test images, whose cue is already painted or covered."""
        if isinstance(images, Tensor) and images.is_floating_point():
            return _like(images, self.presentation.normalised(_batch(images.cpu()) * 255))
        return _like(images, self.presentation.normalised(_pixels(images)))


def _pixels(images: Any) -> Tensor:
    """A new batch, uint8 [N, 3, H, W]."""
    if not isinstance(images, Tensor):
        images = torch.from_numpy(np.array(images)).permute(2, 0, 1)
    if images.is_floating_point():
        images = (images.detach().cpu() * 255).round().clamp(0, 255).to(torch.uint8)
    return _batch(images.cpu()).clone()


def _batch(images: Tensor) -> Tensor:
    return images.unsqueeze(0) if images.ndim == 3 else images


def _like(images: Any, shown: Tensor) -> Tensor:
    if not isinstance(images, Tensor):
        return shown[0]
    return (shown[0] if images.ndim == 3 else shown).to(images.device)


def _keys(pixels: Tensor) -> list[bytes]:
    return [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in pixels.contiguous().numpy()]
