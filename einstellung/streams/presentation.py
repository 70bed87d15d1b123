"""From raw images to the net's input: augmentation, cue, normalisation and optional enlargement, in this order."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.cues.patch import Cue
from einstellung.errors import InputError
from einstellung.streams.stream import ImageSet, Stream
from einstellung.streams.transfer import to_device


class Presentation:
    """The only path from raw images to the net's input, shared by training, replay, evaluation and the stream's proof.

    Augmentation and cue draw from the generators they are given, never from a global one. The cue is painted after crop and
    flip, so that augmentation does not move it. Enlargement comes last, so that cue and cover grow with the image and memory
    holds small images.

    Image sets stay in CPU memory. A batch is augmented and painted there, moves to the net's device as bytes (a quarter of
    its size in floats) and is normalised on that device. Pixels that are on the device already stay there.
    """

    def __init__(self, stream: Stream, device: torch.device | str = "cpu", channels_last: bool = False) -> None:
        height, width = stream.phases[0].train.images.shape[-2:]
        if stream.input_size is not None and stream.input_size < max(height, width):
            # shrinking could lose a small cue between the pixels that are kept
            raise InputError(
                f"stream.input_size is {stream.input_size}, but images are {height}x{width} and can only be enlarged"
            )
        self.stream = stream
        self.device = torch.device(device)
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        # (x / 255 - mean) / std as one multiplication and one addition
        std = torch.tensor(stream.std).view(1, -1, 1, 1)
        self._scale = (1 / (255 * std)).to(self.device)
        self._shift = (-torch.tensor(stream.mean).view(1, -1, 1, 1) / std).to(self.device)

    def training_pixels(self, images: ImageSet, augmentation: torch.Generator, cue: torch.Generator | None) -> Tensor:
        """Augmented uint8 images, with the cue on those that have it."""
        pixels = crop_and_flip(images.images, self.stream.crop_padding, self.stream.flip, augmentation)
        return self.painted(pixels, images, cue)

    def painted(self, pixels: Tensor, images: ImageSet, cue: torch.Generator | None = None) -> Tensor:
        """``pixels`` with the cue painted on the images that have it."""
        if not bool(images.has_cue.any()):
            return pixels
        if self.stream.phase_cues:
            return self._painted_by_phase(pixels, images, cue)
        if self.stream.habit is None:
            return _painted_where(self.stream.planted_cue, images.has_cue, pixels, images.index, cue)
        # Replay mixes phases in a batch: the label determines which cue an image has.
        first = images.has_cue & torch.isin(images.labels, torch.tensor(self.stream.habit.classes))
        painted = _painted_where(self.stream.planted_cue, images.has_cue & ~first, pixels, images.index, cue)
        return _painted_where(self.stream.habit.cue, first, painted, images.index, cue)

    def _painted_by_phase(self, pixels: Tensor, images: ImageSet, cue: torch.Generator | None) -> Tensor:
        """Every image with the cue of the phase that its label belongs to, as replay mixes phases in a batch."""
        for phase in self.stream.phases:
            rows = images.has_cue & torch.isin(images.labels, torch.tensor(phase.classes))
            pixels = _painted_where(self.stream.cue_of(phase.name), rows, pixels, images.index, cue)
        return pixels

    def training(self, images: ImageSet, augmentation: torch.Generator, cue: torch.Generator | None) -> Tensor:
        """A training batch as the net's input."""
        return self.normalised(self.training_pixels(images, augmentation, cue))

    def unaugmented(self, images: ImageSet) -> Tensor:
        """Training images with their cue but without augmentation, e.g. for Fisher information."""
        return self.normalised(self.painted(images.images, images))

    def normalised(self, pixels: Tensor) -> Tensor:
        """uint8 pixels as normalised floats on the net's device, enlarged to the stream's ``input_size``."""
        floats = to_device(pixels, self.device).to(torch.float32, memory_format=self.layout)
        inputs = torch.addcmul(self._shift, floats, self._scale)
        if (side := self.stream.input_size) is None or inputs.shape[-2:] == (side, side):
            return inputs
        return F.interpolate(inputs, size=(side, side), mode="bilinear", align_corners=False)


def _painted_where(cue: Cue, rows: Tensor, pixels: Tensor, index: Tensor, generator: torch.Generator | None) -> Tensor:
    """``pixels`` with the cue painted on the given rows."""
    if not bool(rows.any()):
        return pixels
    if bool(rows.all()):
        return cue.paint(pixels, index, generator)
    painted = pixels.clone()
    painted[rows] = cue.paint(pixels[rows], index[rows], generator)
    return painted


def crop_and_flip(images: Tensor, padding: int, flip: bool, generator: torch.Generator) -> Tensor:
    """Random crop after zero padding and random horizontal flip, drawn independently for every image.

    Draws come from the CPU generator, so that they are the same on every device.

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
    image = torch.arange(count, device=device).view(-1, 1, 1, 1)
    channel = torch.arange(channels, device=device).view(1, -1, 1, 1)
    return padded[image, channel, rows + top, cols + left]
