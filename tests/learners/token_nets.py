"""Nets of texts and series with layers of every kind, and inputs for them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones import build_backbone


def texts(vocabulary: int, rows: int = 7, length: int = 9, seed: int = 1) -> Tensor:
    """Padded texts of at least three tokens, some of which repeat."""
    draws = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, vocabulary, (rows, length), generator=draws)
    tokens[:, 1] = tokens[:, 0]
    lengths = torch.randint(3, length + 1, (rows, 1), generator=draws)
    return tokens * (torch.arange(length) < lengths)


class Bags(nn.Module):
    """Embedding bags that average and add up, with and without padding, and an embedding of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.padded = nn.EmbeddingBag(20, 4, mode="mean"), nn.EmbeddingBag(20, 4, padding_idx=0)
        self.sum, self.one = nn.EmbeddingBag(20, 4, mode="sum", padding_idx=0), nn.Embedding(20, 4)
        self.head = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.mean(x), self.padded(x), self.sum(x), self.one(x).tanh().amax(dim=1)]
        return self.head(torch.cat(parts, dim=1).tanh())


class InPlace(nn.Module):
    """Positions are added in place, as often written."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.position = nn.Embedding(20, 4), nn.Embedding(9, 4)
        self.head = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.table(x)
        tokens += self.position(torch.arange(x.shape[1]).expand(x.shape))
        return self.head(tokens.mul_(2).tanh().mean(dim=1))


class WeightedBag(nn.Module):
    """Each token of a bag has a weight of its own, given by keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(20, 4, mode="sum"), nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.bag(x, per_sample_weights=(x.double() + 1).reciprocal()))


class SharedTable(nn.Module):
    """An embedding that is also the output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 6)

    def forward(self, x: Tensor) -> Tensor:
        return (self.table(x).mean(dim=1).tanh() @ self.table.weight.T)[:, :6]


class Series(nn.Module):
    """Strided, dilated, grouped and circular convolutions of series, batch norm of maps and vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.strided = nn.Conv1d(2, 8, 5, stride=2, padding=1)
        self.dilated = nn.Conv1d(8, 6, 3, padding="same", dilation=2, bias=False)
        self.maps = nn.BatchNorm1d(6)
        self.grouped = nn.Conv1d(6, 4, 2, groups=2)
        self.circular = nn.Conv1d(4, 4, 3, padding=1, padding_mode="circular")
        self.vectors, self.head = nn.BatchNorm1d(4), nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.maps(self.dilated(self.strided(x).tanh())))
        return self.head(self.vectors(self.circular(self.grouped(x).tanh()).mean(dim=2)))


def text_net(name: str) -> nn.Module:
    options = {
        "embedding_bag": {"vocabulary": 150, "dim": 6, "hidden": 10, "layers": 2},
        "text_transformer": {"vocabulary": 150, "length": 9, "dim": 8, "depth": 2, "heads": 2},
        "minilm": {"vocabulary": 150, "length": 11, "dim": 8, "depth": 2, "heads": 2, "hidden": 12},
    }
    return build_backbone(name, options[name], 6, 3)
