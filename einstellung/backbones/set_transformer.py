"""Set transformer (Lee et al., 2019), as the neuro-symbolic concept learner uses it on the objects of a scene.

Two self-attention blocks over the objects, attention pooling from one learned seed, a linear head; dropout before and after the
pooling (Stammer et al., 2021). As in their published code and ConCon's, attention logits are divided by the square root of the
full width instead of a head's, the attention output is added to the projected queries, and an empty slot is a row of zeros that
takes part like any other.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.errors import InputError


class SetAttention(nn.Module):
    """Multi-head attention of queries to a set: h = norm(q + softmax(q k^T / sqrt(dim)) v), then norm(h + relu(W h))."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        by_head = [x.unflatten(2, (self.heads, -1)).transpose(1, 2) for x in (queries, keys, values)]
        found = F.scaled_dot_product_attention(*by_head, scale=queries.shape[2] ** -0.5)
        out = self.norm1(queries + found.transpose(1, 2).flatten(2))
        return self.norm2(out + F.relu(self.fc(out)))


class SelfAttention(nn.Module):
    """Self-attention over the objects."""

    def __init__(self, inputs: int, dim: int, heads: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(inputs, 3 * dim)
        self.attn = SetAttention(dim, heads)

    def forward(self, objects: Tensor) -> Tensor:
        return self.attn(*self.qkv(objects).chunk(3, dim=2))


class AttentionPooling(nn.Module):
    """Attention from one learned seed to all objects: the set as one vector."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.seed = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, 1, dim)))
        self.query = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.attn = SetAttention(dim, heads)

    def forward(self, objects: Tensor) -> Tensor:
        keys, values = self.kv(objects).chunk(2, dim=2)
        return self.attn(self.query(self.seed).expand(len(objects), -1, -1), keys, values).squeeze(1)


@backbones.register("set_transformer")
class SetTransformer(nn.Module):
    """For tables [N, 1, objects, columns]: ``dim`` channels in ``heads`` heads; invariant to the order of objects.

    The defaults are those of ConCon's published code, which uses torch's default dropout.

    >>> SetTransformer(2)(torch.zeros(3, 1, 4, 16)).shape
    torch.Size([3, 2])
    """

    def __init__(self, n_outputs: int, dim: int = 128, heads: int = 4, dropout: float = 0.5, columns: int = 16) -> None:
        super().__init__()
        if min(dim, heads, columns) < 1:
            raise InputError("backbone.dim, heads and columns must all be at least 1")
        if dim % heads:
            raise InputError(f"backbone.dim {dim} is not a multiple of backbone.heads {heads}")
        if not 0 <= dropout < 1:
            raise InputError(f"backbone.dropout is {dropout}: it must be at least 0 and less than 1")
        self.blocks = nn.Sequential(SelfAttention(columns, dim, heads), SelfAttention(dim, dim, heads))
        self.pool = AttentionPooling(dim, heads)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(dim, n_outputs)

    def stages(self) -> dict[str, nn.Module]:
        """The self-attention blocks, by name."""
        return {f"block {number}": block for number, block in enumerate(self.blocks, start=1)}

    def features(self, x: Tensor) -> Tensor:
        """The input of the head."""
        objects = self.blocks(x.squeeze(1))
        return self.dropout(self.pool(self.dropout(objects)))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))
