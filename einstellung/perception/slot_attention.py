"""Slot attention (Locatello et al., 2020) for set prediction: the objects of a picture, each in a slot of its own.

Convolutions and an embedding of places turn a picture into a set of vectors. Every place divides its attention among the slots,
which so compete for it; a slot takes the weighted mean of what it won, through a GRU and a residual perceptron, and all of this
a few times over.

Differs from the original in where slots begin: each with a learned vector of its own instead of a draw from one distribution for
all, so that a picture is always seen in the same way; in the strides, of which the first two halve a picture here instead of the
second and third, so that the costly convolutions see a quarter of the places; and in the outputs, which are logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.perception.columns import OUTPUTS

_MEAN, _SPREAD = 146.0, 25.0  # of rendered pixels: most of a picture is grey ground


@dataclass(frozen=True)
class SlotOptions:
    """The size of the net; slots, iterations, channels and hidden are those of Locatello et al. and of ConCon's code."""

    slots: int = 10
    iterations: int = 3
    channels: int = 64
    hidden: int = 128
    strides: tuple[int, ...] = (2, 2, 1, 1)

    def __post_init__(self) -> None:
        if min(self.slots, self.iterations, self.channels, self.hidden, *self.strides) < 1:
            raise InputError("slots, iterations, channels, hidden and strides must all be at least 1")


class SlotAttention(nn.Module):
    """Slots [N, slots, channels] compete for the inputs [N, places, channels]."""

    def __init__(self, options: SlotOptions) -> None:
        super().__init__()
        channels = options.channels
        self.iterations = options.iterations
        self.norm_inputs, self.norm_slots, self.norm_mlp = (nn.LayerNorm(channels) for _ in range(3))
        self.query = nn.Linear(channels, channels, bias=False)
        self.kv = nn.Linear(channels, 2 * channels, bias=False)
        self.gru = nn.GRUCell(channels, channels)
        self.mlp = nn.Sequential(nn.Linear(channels, options.hidden), nn.ReLU(), nn.Linear(options.hidden, channels))

    def forward(self, inputs: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """The slots at the end, and how each place divided its attention among them [N, slots, places] the last time."""
        keys, values = self.kv(self.norm_inputs(inputs)).chunk(2, dim=2)
        for _ in range(self.iterations):
            queries = self.query(self.norm_slots(slots)) * slots.shape[2] ** -0.5
            weights = (queries @ keys.transpose(1, 2)).softmax(dim=1) + 1e-8  # among the slots
            found = weights / weights.sum(dim=2, keepdim=True) @ values
            updated = self.gru(found.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            slots = updated + self.mlp(self.norm_mlp(updated))
        return slots, weights


class SlotPerception(nn.Module):
    """From pictures to outputs of slots (:mod:`einstellung.perception.columns`) and the attention of places.

    >>> outputs, attention = SlotPerception(SlotOptions(channels=8))(torch.zeros(2, 3, 16, 16))
    >>> outputs.shape, attention.shape
    (torch.Size([2, 10, 18]), torch.Size([2, 10, 16]))
    """

    def __init__(self, options: SlotOptions) -> None:
        super().__init__()
        channels = options.channels
        layers: list[nn.Module] = []
        for number, stride in enumerate(options.strides):
            layers += [nn.Conv2d(channels if number else 3, channels, 5, stride, padding=2), nn.ReLU()]
        self.encoder = nn.Sequential(*layers)
        self.place = nn.Linear(4, channels)
        self.norm = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels))
        self.start = nn.Parameter(torch.randn(1, options.slots, channels))
        self.attention = SlotAttention(options)
        self.head = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, OUTPUTS))
        self.apply(_begun)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        maps = self.encoder(pictures)
        places = maps.flatten(2).transpose(1, 2) + self.place(grid(*maps.shape[2:]).to(maps))
        slots, attention = self.attention(self.mlp(self.norm(places)), self.start.expand(len(pictures), -1, -1))
        return self.head(slots), attention


def _begun(layer: nn.Module) -> None:
    """Weights that keep the spread of what goes through them: torch's own would leave little of a picture beside its places."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    elif isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
    if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
        nn.init.zeros_(layer.bias)


def grid(height: int, width: int) -> Tensor:
    """Every place, row by row, by its distance from the four edges, as shares [height * width, 4].

    >>> grid(2, 2).tolist()
    [[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    rows, cols = torch.meshgrid(torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij")
    near = torch.stack([rows, cols], dim=2).view(-1, 2)
    return torch.cat([near, 1 - near], dim=1)


def as_inputs(images: Tensor) -> Tensor:
    """uint8 pictures [N, 3, S, S] as the net sees them, in the memory layout in which convolutions are fast."""
    return images.to(torch.float32, memory_format=torch.channels_last).sub_(_MEAN).div_(_SPREAD)
