"""From Mammoth's raw images to a net's input: crop and flip, then the cue at its place, then normalisation.

Mammoth hands its transforms an image and nothing else, and what it replays from a buffer is the raw image. So an image's
identity, and with it whether and where it bears the cue, is found by its bytes.
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
    """Every training image of a stream by its content.

    Two images of the same content (a source may hold a few) count as the first of them; that is refused where one of them
    bears the cue and the other does not.
    """

    def __init__(self, stream: Stream) -> None:
        self.images = ImageSet.joined([phase.train for phase in stream.phases])
        self._rows: dict[bytes, int] = {}
        for row, key in enumerate(_keys(self.images.images)):
            first = self._rows.setdefault(key, row)
            if bool(self.images.has_cue[first] != self.images.has_cue[row]):
                raise InputError(
                    f"training images {int(self.images.index[first])} and {int(self.images.index[row])} of {stream.name} are "
                    "the same, and only one bears the cue: replay cannot tell them apart"
                )

    def known(self, pixels: Tensor) -> tuple[Tensor, ImageSet]:
        """Which of the images (uint8 [N, 3, H, W]) are training images of the stream, and those with what is known of them."""
        rows = torch.tensor([self._rows.get(key, -1) for key in _keys(pixels)], dtype=torch.long)
        return rows >= 0, self.images.take(rows[rows >= 0])


class MammothPresentation:
    """The stream's own presentation, for images in the forms that Mammoth passes around.

    An image is a PIL image, a uint8 tensor, or floats in 0..1; one alone or a batch. What comes out has the same number of
    dimensions and is on the same device.
    """

    def __init__(self, stream: Stream) -> None:
        self.presentation = Presentation(stream)
        self.training_images = TrainingImages(stream)

    def augmented(self, images: Any) -> Tensor:
        """Cropped, flipped (from torch's global generator, as Mammoth does it), with the cue, normalised."""
        pixels = _pixels(images)
        is_known, known = self.training_images.known(pixels)
        if not bool(is_known.all()):
            raise InputError(
                "Mammoth's transform was given an image that is no training image of the stream, so the cue's place in it "
                "is unknown: this method changes images before it replays them, and cannot be measured by this bridge"
            )
        draws = torch.default_generator
        return _like(images, self.presentation.training(known, draws, draws))

    def unaugmented(self, images: Any) -> Tensor:
        """With the cue where a training image bears it, normalised; any other image is normalised as it is."""
        pixels = _pixels(images)
        is_known, known = self.training_images.known(pixels)
        if bool(is_known.all()):
            return _like(images, self.presentation.unaugmented(known))
        if bool(is_known.any()):
            pixels[is_known] = self.presentation.painted(known.images, known)
            return _like(images, self.presentation.normalised(pixels))
        return self.normalised(images)

    def normalised(self, images: Any) -> Tensor:
        """Normalised and no more: for test images, which show or hide the cue already."""
        if isinstance(images, Tensor) and images.is_floating_point():
            return _like(images, self.presentation.normalised(_batch(images.cpu()) * 255))
        return _like(images, self.presentation.normalised(_pixels(images)))


def _pixels(images: Any) -> Tensor:
    """A batch of its own, uint8 [N, 3, H, W]."""
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
