"""What nets of texts share: token numbers, their embeddings, and means over a text's own tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.sources.vocabulary import FIRST_WORD, PADDING

__all__ = ["FIRST_WORD", "PADDING", "MaskedAttention", "attended", "embedded", "mean_over_tokens"]


def embedded(embedding: nn.Embedding, tokens: Tensor) -> Tensor:
    """The embeddings of token numbers [N, T]; an error names a number beyond the table."""
    if tokens.dim() != 2 or tokens.is_floating_point():
        raise InputError(
            f"this backbone takes texts, [N, T] of token numbers, not {_described(tokens)}: choose a backbone for your data"
        )
    try:
        return embedding(tokens)
    except IndexError:
        most = embedding.num_embeddings - 1
        raise InputError(
            f"the texts hold token {int(tokens.max())}, but the backbone's tokens end at {most}: raise backbone.vocabulary"
        ) from None


def _described(inputs: Tensor) -> str:
    return f"{str(inputs.dtype).removeprefix('torch.')} of shape {list(inputs.shape)}"


def mean_over_tokens(values: Tensor, real: Tensor) -> Tensor:
    """The mean of values [N, T, D] over the real tokens [N, T] of each text; 0 for a text without any.

    >>> mean_over_tokens(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[True, True, False]]))
    tensor([[3.]])
    """
    weights = real.to(values.dtype)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.bmm(weights.unsqueeze(1), values).squeeze(1)


class MaskedAttention(nn.Module):
    """Multi-head self-attention to those tokens that ``seen`` [N, 1, 1, T] names."""

    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        batch, tokens, dim = x.shape
        query, key, value = self.qkv(x).view(batch, tokens, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        dropped = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=seen, dropout_p=dropped)
        return self.proj(out.transpose(1, 2).reshape(batch, tokens, dim))


def attended(real: Tensor) -> Tensor:
    """The tokens that attention sees [N, 1, 1, T]: the real ones, and all of a text without any, whose softmax would be empty.

    >>> attended(torch.tensor([[True, False], [False, False]]))[:, 0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    return (real | ~real.any(dim=1, keepdim=True))[:, None, None, :]
