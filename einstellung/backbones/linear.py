"""A linear classifier on features of another net."""

from __future__ import annotations

from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.errors import InputError


@backbones.register("linear")
class LinearClassifier(nn.Module):
    """One linear layer on all ``inputs`` values of an image, for instance 1280 features as an image of [1280, 1, 1].

    >>> import torch
    >>> LinearClassifier(2, inputs=5)(torch.zeros(3, 5, 1, 1)).shape
    torch.Size([3, 2])
    """

    def __init__(self, n_outputs: int, inputs: int = 1280) -> None:
        super().__init__()
        if inputs < 1:
            raise InputError(f"backbone.inputs is {inputs}: it must be at least 1")
        self.head = nn.Linear(inputs, n_outputs)

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        return x.flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
