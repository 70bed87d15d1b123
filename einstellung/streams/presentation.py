"""How a raw image becomes what a net sees: spatial augmentation, then the cue, then normalisation and, maybe, enlargement."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.streams.stream import ImageSet, Stream
from einstellung.streams.transfer import to_device


class Presentation:
    """The one way from raw images to a net's input, for training, replay, evaluation and the stream's proof alike.

    Augmentation and cue draw from the generators they are given, never from a global one. The cue comes after the crop and
    the flip, so that it stands where it should in what the net sees. Where a stream shows its images larger than they are,
    that comes last: cue and cover grow with the image, and memory holds small images.

    Sets of images lie in the CPU's memory. A batch is augmented and painted there, goes to the net's device as bytes, a quarter
    of what its floats would take, and is normalised on that device. Pixels that a learner drew on the device stay on it.
    """

    def __init__(self, stream: Stream, device: torch.device | str = "cpu", channels_last: bool = False) -> None:
        height, width = stream.phases[0].train.images.shape[-2:]
        if stream.shown_size is not None and stream.shown_size < max(height, width):
            # between the pixels that a smaller image keeps, a small cue would be lost
            raise InputError(
                f"stream.shown_size is {stream.shown_size}: images of {height}x{width} are only ever enlarged"
            )
        self.stream = stream
        self.device = torch.device(device)
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        # (x / 255 - mean) / std as one multiplication and one addition
        std = torch.tensor(stream.std).view(1, -1, 1, 1)
        self._scale = (1 / (255 * std)).to(self.device)
        self._shift = (-torch.tensor(stream.mean).view(1, -1, 1, 1) / std).to(self.device)

    def training_pixels(self, images: ImageSet, augmentation: torch.Generator, cue: torch.Generator | None) -> Tensor:
        """Augmented uint8 images with the cue on those that bear it."""
        pixels = crop_and_flip(images.images, self.stream.crop_padding, self.stream.flip, augmentation)
        return self.painted(pixels, images, cue)

    def painted(self, pixels: Tensor, images: ImageSet, cue: torch.Generator | None = None) -> Tensor:
        """``pixels`` with the cue on the images that bear it."""
        if not bool(images.has_cue.any()):
            return pixels
        if bool(images.has_cue.all()):
            return self.stream.planted_cue.paint(pixels, images.index, cue)
        painted = pixels.clone()
        painted[images.has_cue] = self.stream.planted_cue.paint(
            pixels[images.has_cue], images.index[images.has_cue], cue
        )
        return painted

    def training(self, images: ImageSet, augmentation: torch.Generator, cue: torch.Generator | None) -> Tensor:
        """A training batch as the net sees it."""
        return self.normalised(self.training_pixels(images, augmentation, cue))

    def unaugmented(self, images: ImageSet) -> Tensor:
        """Training images without augmentation, with their cue: for Fisher information and the like."""
        return self.normalised(self.painted(images.images, images))

    def normalised(self, pixels: Tensor) -> Tensor:
        floats = to_device(pixels, self.device).to(torch.float32, memory_format=self.layout)
        inputs = torch.addcmul(self._shift, floats, self._scale)
        if (side := self.stream.shown_size) is None or inputs.shape[-2:] == (side, side):
            return inputs
        return F.interpolate(inputs, size=(side, side), mode="bilinear", align_corners=False)


def crop_and_flip(images: Tensor, padding: int, flip: bool, generator: torch.Generator) -> Tensor:
    """Random crop after zero padding, and random horizontal flip, drawn anew for every image of the batch.

    The draws are the CPU generator's wherever the images are, so that they are the same on every device.

    >>> one = torch.arange(4, dtype=torch.uint8).view(1, 1, 2, 2)
    >>> crop_and_flip(one, 0, False, torch.Generator().manual_seed(0)).flatten().tolist()
    [0, 1, 2, 3]
    """
    count, channels, height, width = images.shape
    device = images.device
    drawn = to_device(torch.rand(3, count, generator=generator), device)
    top = (drawn[0] * (2 * padding + 1)).long().view(-1, 1, 1, 1)
    left = (drawn[1] * (2 * padding + 1)).long().view(-1, 1, 1, 1)
    cols = torch.arange(width, device=device).view(1, 1, 1, -1).expand(count, -1, -1, -1)
    if flip:
        cols = torch.where((drawn[2] < 0.5).view(-1, 1, 1, 1), width - 1 - cols, cols)
    rows = torch.arange(height, device=device).view(1, 1, -1, 1)
    padded = F.pad(images, (padding, padding, padding, padding))
    which = torch.arange(count, device=device).view(-1, 1, 1, 1)
    channel = torch.arange(channels, device=device).view(1, -1, 1, 1)
    return padded[which, channel, rows + top, cols + left]
