"""From raw inputs to the net's: augmentation, cue, then what the modality makes of them, in this order."""

from __future__ import annotations

import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.modalities import Scaling, View
from einstellung.streams.stream import ImageSet, Stream


class Presentation:
    """The only path from raw inputs to the net's, shared by training, replay, evaluation and the stream's proof.

    Augmentation and cue draw from the generators they are given, never from a global one. The cue is painted after
    augmentation, so that this does not move it, and before normalisation and enlargement, so that it grows with the image.

    Sets stay in CPU memory. A batch is augmented and painted there, moves to the net's device as it is stored (images: as
    bytes, a quarter of their size in floats) and is normalised on that device. What is on the device already stays there.
    """

    def __init__(self, stream: Stream, device: torch.device | str = "cpu", channels_last: bool = False) -> None:
        self.stream = stream
        self.device = torch.device(device)
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        self._view = View(stream.crop_padding, stream.flip)
        scaling = Scaling(stream.mean, stream.std, stream.input_size)
        stream.modality.check_scaling(scaling, stream.phases[0].train.images)
        self._encoded = stream.modality.encoder(scaling, self.device, self.layout)

    def training_pixels(self, images: ImageSet, augmentation: torch.Generator, cue: torch.Generator | None) -> Tensor:
        """Augmented raw inputs, with the cue on those that have it."""
        return self.painted(self.stream.modality.augmented(images.images, self._view, augmentation), images, cue)

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
        """Raw inputs as those of the net, on its device."""
        return self._encoded(pixels)


def _painted_where(cue: Cue, rows: Tensor, pixels: Tensor, index: Tensor, generator: torch.Generator | None) -> Tensor:
    """``pixels`` with the cue painted on the given rows."""
    if not bool(rows.any()):
        return pixels
    if bool(rows.all()):
        return cue.paint(pixels, index, generator)
    painted = pixels.clone()
    painted[rows] = cue.paint(pixels[rows], index[rows], generator)
    return painted
