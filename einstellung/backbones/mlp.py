"""A multi-layer perceptron on features of another net."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.errors import InputError


@backbones.register("mlp")
class MultiLayerPerceptron(nn.Module):
    """``layers`` hidden layers of ``hidden`` ReLU units on all ``inputs`` values of an image, then a linear head.

    >>> import torch
    >>> net = MultiLayerPerceptron(2, inputs=5, hidden=3)
    >>> net(torch.zeros(4, 5, 1, 1)).shape, net.features(torch.zeros(4, 5, 1, 1)).shape
    (torch.Size([4, 2]), torch.Size([4, 3]))
    """

    def __init__(self, n_outputs: int, inputs: int = 1280, hidden: int = 256, layers: int = 1) -> None:
        super().__init__()
        for name, number in (("inputs", inputs), ("hidden", hidden), ("layers", layers)):
            if number < 1:
                raise InputError(f"backbone.{name} is {number}: it must be at least 1")
        widths = [inputs, *[hidden] * layers]
        self.body = nn.Sequential(
            *(nn.Sequential(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths))
        )
        self.head = nn.Linear(hidden, n_outputs)

    def stages(self) -> dict[str, nn.Module]:
        """The hidden layers, by name."""
        return {f"layer {number}": layer for number, layer in enumerate(self.body, start=1)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        out: Tensor = self.body(x.flatten(1))
        return out

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
