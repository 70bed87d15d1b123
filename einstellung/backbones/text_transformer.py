"""A small transformer encoder for texts: pre-norm blocks, learned positions, the mean over tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.backbones.tokens import PADDING, MaskedAttention, attended, embedded, mean_over_tokens
from einstellung.errors import InputError


class TextBlock(nn.Module):
    """Attention, then a two-layer perceptron, each with pre-norm and a residual connection; padding is 0 in the output."""

    def __init__(self, dim: int, heads: int, mlp_ratio: float, dropout: float) -> None:
        super().__init__()
        hidden = round(dim * mlp_ratio)
        self.norm1 = nn.LayerNorm(dim)
        self.attn = MaskedAttention(dim, heads, dropout)
        self.norm2 = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x = x + self.dropout(self.attn(self.norm1(x), attended(real)))
        x = x + self.dropout(self.fc2(F.gelu(self.fc1(self.norm2(x)))))
        return x * real.unsqueeze(2)


@backbones.register("text_transformer")
class TextTransformer(nn.Module):
    """For texts [N, T] of up to ``length`` tokens: ``depth`` blocks of ``dim`` channels in ``heads`` heads.

    ``vocabulary``: how many token numbers there are; ``mlp_ratio``: units of a block's perceptron, in channels. Padding (0) is
    not attended to and takes no part in the mean.

    >>> net = TextTransformer(2, vocabulary=50)
    >>> net(torch.tensor([[17, 18, 0], [0, 0, 0]])).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        n_outputs: int,
        vocabulary: int = 20_000,
        length: int = 256,
        dim: int = 64,
        depth: int = 2,
        heads: int = 4,
        mlp_ratio: float = 2.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = {"vocabulary": vocabulary, "length": length, "dim": dim, "depth": depth, "heads": heads}
        for name, number in sizes.items():
            if number < 1:
                raise InputError(f"backbone.{name} is {number}: it must be at least 1")
        if dim % heads:
            raise InputError(f"backbone.dim {dim} is not a multiple of backbone.heads {heads}")
        if round(dim * mlp_ratio) < 1:
            raise InputError(f"backbone.mlp_ratio is {mlp_ratio}: the perceptron would have no units")
        if not 0 <= dropout < 1:
            raise InputError(f"backbone.dropout is {dropout}: it must be at least 0 and less than 1")
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=PADDING)
        self.position = nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(TextBlock(dim, heads, mlp_ratio, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_outputs)
        for table in (self.embedding, self.position):
            nn.init.trunc_normal_(table.weight, std=0.02)
        with torch.no_grad():
            self.embedding.weight[PADDING] = 0

    def stages(self) -> dict[str, nn.Module]:
        """The blocks, by name."""
        return {f"block {number}": block for number, block in enumerate(self.blocks, start=1)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head: the mean of the real tokens after the last norm."""
        tokens, real = embedded(self.embedding, x), x != PADDING
        if x.shape[1] > self.position.num_embeddings:
            raise InputError(
                f"texts of {x.shape[1]} tokens, but the backbone takes {self.position.num_embeddings}: raise backbone.length"
            )
        # as many rows as there are texts, so that gradients of single texts can be told apart
        places = torch.arange(x.shape[1], device=x.device).expand(x.shape)
        tokens = (tokens + self.position(places)) * real.unsqueeze(2)
        for block in self.blocks:
            tokens = block(tokens, real)
        return mean_over_tokens(self.norm(tokens), real)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
