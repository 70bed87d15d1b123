"""A bag of word embeddings, for texts."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.backbones.tokens import PADDING, embedded, mean_over_tokens
from einstellung.errors import InputError


@backbones.register("embedding_bag")
class EmbeddingBag(nn.Module):
    """For texts [N, T]: the mean of ``dim``-dimensional embeddings, ``layers`` hidden layers of ``hidden`` ReLU units, a head.

    ``vocabulary``: how many token numbers there are. Padding (0) takes no part.

    >>> import torch
    >>> EmbeddingBag(2, vocabulary=50)(torch.tensor([[17, 18, 0], [0, 0, 0]])).shape
    torch.Size([2, 2])
    """

    def __init__(
        self, n_outputs: int, vocabulary: int = 20_000, dim: int = 64, hidden: int = 128, layers: int = 1
    ) -> None:
        super().__init__()
        for name, number in (("vocabulary", vocabulary), ("dim", dim), ("hidden", hidden), ("layers", layers)):
            if number < 1:
                raise InputError(f"backbone.{name} is {number}: it must be at least 1")
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=PADDING)
        widths = [dim, *[hidden] * layers]
        self.body = nn.Sequential(
            *(nn.Sequential(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths))
        )
        self.head = nn.Linear(hidden, n_outputs)

    def stages(self) -> dict[str, nn.Module]:
        """The hidden layers, by name."""
        return {f"layer {number}": layer for number, layer in enumerate(self.body, start=1)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        out: Tensor = self.body(mean_over_tokens(embedded(self.embedding, x), x != PADDING))
        return out

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
