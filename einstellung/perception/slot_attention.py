"""Slot attention (Locatello et al., 2020) for set prediction: every object of an image gets its own slot.

Convolutions and a position embedding turn an image into a set of vectors. Each position distributes its attention over the slots,
so that slots compete; a slot is updated with the weighted mean of its positions through a GRU and a residual MLP, a few times.

Differences from the original: slots start from learned vectors instead of random draws, so that an image always gives the same
result; the first two convolutions have stride 2 instead of the second and third, so that the expensive ones have a quarter of the
positions; the outputs are logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.perception.columns import OUTPUTS

_MEAN, _STD = 146.0, 25.0  # of rendered pixels, which are mostly grey ground


@dataclass(frozen=True)
class SlotOptions:
    """The size of the net; slots, iterations, channels and hidden as in Locatello et al. and ConCon's code."""

    slots: int = 10
    iterations: int = 3
    channels: int = 64
    hidden: int = 128
    strides: tuple[int, ...] = (2, 2, 1, 1)

    def __post_init__(self) -> None:
        if min(self.slots, self.iterations, self.channels, self.hidden, *self.strides) < 1:
            raise InputError("slots, iterations, channels, hidden and strides must all be at least 1")


class SlotAttention(nn.Module):
    """Slots [N, slots, channels] compete for inputs [N, positions, channels]."""

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
        """The final slots, and the attention [N, slots, positions] of the last iteration."""
        keys, values = self.kv(self.norm_inputs(inputs)).chunk(2, dim=2)
        for _ in range(self.iterations):
            queries = self.query(self.norm_slots(slots)) * slots.shape[2] ** -0.5
            weights = (queries @ keys.transpose(1, 2)).softmax(dim=1) + 1e-8  # over slots
            updates = weights / weights.sum(dim=2, keepdim=True) @ values
            updated = self.gru(updates.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            slots = updated + self.mlp(self.norm_mlp(updated))
        return slots, weights


class SlotPerception(nn.Module):
    """From images to slot outputs (:mod:`einstellung.perception.columns`) and attention.

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
        self.apply(_initialise)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        maps = self.encoder(pictures)
        places = maps.flatten(2).transpose(1, 2) + self.place(grid(*maps.shape[2:]).to(maps))
        slots, attention = self.attention(self.mlp(self.norm(places)), self.start.expand(len(pictures), -1, -1))
        return self.head(slots), attention


def _initialise(layer: nn.Module) -> None:
    """Variance-preserving weights: with torch's defaults, the position embedding would drown the image."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    elif isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
    if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
        nn.init.zeros_(layer.bias)


def grid(height: int, width: int) -> Tensor:
    """The distances of every position from the four edges, row by row, as shares [height * width, 4].

    >>> grid(2, 2).tolist()
    [[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    rows, cols = torch.meshgrid(torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij")
    top_left = torch.stack([rows, cols], dim=2).view(-1, 2)
    return torch.cat([top_left, 1 - top_left], dim=1)


def as_inputs(images: Tensor) -> Tensor:
    """Normalise uint8 images [N, 3, S, S], in channels-last memory format, which is fast for convolutions."""
    return images.to(torch.float32, memory_format=torch.channels_last).sub_(_MEAN).div_(_STD)
