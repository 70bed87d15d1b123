"""Slot attention (Locatello et al., 2020) for set prediction: the objects of a picture, each in a slot of its own.

Convolutions and an embedding of places turn a picture into a set of vectors. Every place divides its attention among the slots,
which so compete for it; a slot takes the weighted mean of what it won, through a GRU and a residual perceptron, and all of this
a few times over. Slots begin as draws from one learned normal distribution, so that none of them is made for a kind of object.

Differs from the original in the strides: its second and third convolution halve a picture of 128x128, here the first and second
do, so that the costly ones see a quarter of the places; and in the outputs, which are logits. Whoever looks without training
begins with draws that were made once and are kept with the weights: a picture is then always seen in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.perception.columns import OUTPUTS


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

    def forward(self, inputs: Tensor, slots: Tensor) -> Tensor:
        keys, values = self.kv(self.norm_inputs(inputs)).chunk(2, dim=2)
        for _ in range(self.iterations):
            queries = self.query(self.norm_slots(slots)) * slots.shape[2] ** -0.5
            weights = (queries @ keys.transpose(1, 2)).softmax(dim=1) + 1e-8  # among the slots
            found = weights / weights.sum(dim=2, keepdim=True) @ values
            updated = self.gru(found.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            slots = updated + self.mlp(self.norm_mlp(updated))
        return slots


class SlotPerception(nn.Module):
    """From pictures in [-1, 1] to outputs of slots (:mod:`einstellung.perception.columns`).

    >>> SlotPerception(SlotOptions(channels=8))(torch.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 10, 18])
    """

    first_draws: Tensor

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
        bound = (6 / (1 + channels)) ** 0.5  # as for a layer of one input
        self.mean = nn.Parameter(nn.init.uniform_(torch.empty(channels), -bound, bound))
        self.log_sigma = nn.Parameter(nn.init.uniform_(torch.empty(channels), -bound, bound))
        self.register_buffer("first_draws", torch.randn(1, options.slots, channels))
        self.attention = SlotAttention(options)
        self.head = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, OUTPUTS))

    def forward(self, pictures: Tensor, draws: Tensor | None = None) -> Tensor:
        """``draws``: standard normal [N, slots, channels] to begin with; without them those kept with the weights."""
        maps = self.encoder(pictures)
        places = maps.flatten(2).transpose(1, 2) + self.place(grid(*maps.shape[2:]).to(maps))
        start = self.mean + self.log_sigma.exp() * (self.first_draws if draws is None else draws)
        slots = self.attention(self.mlp(self.norm(places)), start.expand(len(pictures), -1, -1))
        outputs: Tensor = self.head(slots)
        return outputs


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
    return images.to(torch.float32, memory_format=torch.channels_last).div_(127.5).sub_(1)
