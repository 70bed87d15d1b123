"""Texts: token numbers [N, 1, 1, tokens]. A net gets them as integers [N, tokens] and ignores padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.input_words import INPUT_WORDS, InputWords
from einstellung.modalities.contract import Modality, Painter, Scaling, View
from einstellung.modalities.transfer import to_device
from einstellung.sources.vocabulary import FIRST_WORD


class Texts:
    """Token numbers; training shows them as they are."""

    name: ClassVar[str] = "text"
    words: ClassVar[InputWords] = INPUT_WORDS["text"]
    default_cue: ClassVar[str] = "tokens"
    default_cover: ClassVar[str] = "remove"
    default_backbone: ClassVar[str] = "embedding_bag"

    def augmented(self, inputs: Tensor, view: View, draws: torch.Generator) -> Tensor:
        return inputs

    def encoder(
        self, scaling: Scaling, device: torch.device, layout: torch.memory_format
    ) -> Callable[[Tensor], Tensor]:
        return lambda tokens: to_device(tokens, device).flatten(1).long()

    def check_scaling(self, scaling: Scaling, stored: Tensor) -> None:
        if scaling.side is not None:
            raise InputError("stream.input_size is for images; leave it out for texts")

    def canvases(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Texts of a single word: cues that leave padding alone are painted on them, too."""
        first, second = (torch.full_like(like, FIRST_WORD + number) for number in (0, 1))
        return first, second

    def may_be_painted(self, cue: Painter, inputs: Tensor, index: Tensor) -> Tensor:
        """Painting once more changes nothing: a cue overwrites the same places with the same tokens."""
        return (cue.paint(inputs, index) == inputs).flatten(1).all(dim=1)

    def size(self, inputs: Tensor) -> str:
        return f"{inputs.shape[-1]} tokens"


TEXTS: Modality = Texts()
