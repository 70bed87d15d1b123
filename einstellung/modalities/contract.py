"""The contract of a kind of inputs.

Inputs of every kind are stored as tensors [N, C, H, W], so that regions, covers, buffers and hashes are the same for all:
images as bytes; texts as token numbers [N, 1, 1, tokens]; series as floats [N, channels, 1, samples]. What differs is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from einstellung.input_words import InputWords


@dataclass(frozen=True)
class View:
    """How a training input is augmented; only images are cropped and flipped."""

    crop_padding: int = 0
    flip: bool = False


@dataclass(frozen=True)
class Scaling:
    """How stored inputs become a net's inputs: normalised per channel, images enlarged to ``side`` pixels where given."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    side: int | None = None


class Painter(Protocol):
    """What the checks need of a cue."""

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor: ...


class Modality(Protocol):
    """A kind of inputs, and what they are called.

    ``default_cue``, ``default_cover`` and ``default_backbone`` are those of a study that names no others.
    """

    name: ClassVar[str]
    words: ClassVar[InputWords]
    default_cue: ClassVar[str]
    default_cover: ClassVar[str]
    default_backbone: ClassVar[str]

    def augmented(self, inputs: Tensor, view: View, draws: torch.Generator) -> Tensor:
        """The inputs of a training batch, each augmented by its own draws."""
        ...

    def encoder(
        self, scaling: Scaling, device: torch.device, layout: torch.memory_format
    ) -> Callable[[Tensor], Tensor]:
        """A function from stored inputs to those of a net, on its device."""
        ...

    def check_scaling(self, scaling: Scaling, stored: Tensor) -> None:
        """Refuse a scaling that the stored inputs cannot have."""
        ...

    def canvases(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Two uniform inputs of the same shape: what is painted differs from at least one of them at every place."""
        ...

    def may_be_painted(self, cue: Painter, inputs: Tensor, index: Tensor) -> Tensor:
        """A bool per input: False if the cue cannot have been painted on it."""
        ...

    def size(self, inputs: Tensor) -> str:
        """The size of one input, in words."""
        ...
