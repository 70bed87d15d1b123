"""Series: floats [N, channels, 1, samples]. A net gets them as floats [N, channels, samples], normalised per channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.input_words import INPUT_WORDS, InputWords
from einstellung.modalities.contract import Modality, Painter, Scaling, View
from einstellung.modalities.transfer import to_device

LEVELS = (-7.0, 11.0)  # of canvases: no cue writes either value


class Series:
    """Series of numbers of equal length; training shows them as they are."""

    name: ClassVar[str] = "series"
    words: ClassVar[InputWords] = INPUT_WORDS["series"]
    default_cue: ClassVar[str] = "spike"
    default_cover: ClassVar[str] = "interpolate"
    default_backbone: ClassVar[str] = "resnet1d"

    def augmented(self, inputs: Tensor, view: View, draws: torch.Generator) -> Tensor:
        return inputs

    def encoder(
        self, scaling: Scaling, device: torch.device, layout: torch.memory_format
    ) -> Callable[[Tensor], Tensor]:
        mean, std = (torch.tensor(values).view(1, -1, 1).to(device) for values in (scaling.mean, scaling.std))
        return lambda values: (to_device(values, device).flatten(2).float() - mean) / std

    def check_scaling(self, scaling: Scaling, stored: Tensor) -> None:
        if scaling.side is not None:
            raise InputError("stream.input_size is for images; leave it out for series")

    def canvases(self, like: Tensor) -> tuple[Tensor, Tensor]:
        low, high = (torch.full_like(like, level) for level in LEVELS)
        return low, high

    def may_be_painted(self, cue: Painter, inputs: Tensor, index: Tensor) -> Tensor:
        """Any series may be the sum of a cue and another series, so nothing can be excluded."""
        return torch.ones(len(inputs), dtype=torch.bool)

    def size(self, inputs: Tensor) -> str:
        return f"{inputs.shape[-1]} samples"


SERIES: Modality = Series()
