"""Small transformers built by hand in the ways of other libraries, and attention computed plainly."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DIM, HEADS, PATCHES = 12, 3, 16


def plain_attention(tokens: Tensor, query: nn.Linear, key: nn.Linear, heads: int) -> Tensor:
    """softmax(q k^T / sqrt(d)) head by head and image by image, in double precision."""
    channels = query.out_features // heads
    q, k = (F.linear(tokens.double(), layer.weight.double(), layer.bias.double()) for layer in (query, key))
    images = []
    for image in range(len(tokens)):
        rows = []
        for head in range(heads):
            part = slice(head * channels, (head + 1) * channels)
            scores = q[image, :, part] @ k[image, :, part].T / channels**0.5
            exponents = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
            rows.append(exponents / exponents.sum(dim=1, keepdim=True))
        images.append(torch.stack(rows))
    return torch.stack(images)


class TokenNet(nn.Module):
    """Patches of 8 pixels of a 32x32 image, a class token, further tokens, layers, and a head on the class token."""

    def __init__(self, layers: list[nn.Module], class_token: str = "cls_token", **further: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, 8, stride=8)
        self.register_parameter(class_token, nn.Parameter(torch.randn(1, 1, DIM)))
        for name, count in further.items():
            self.register_parameter(name, nn.Parameter(torch.randn(1, count, DIM)))
        self.names = (class_token, *further)
        self.positions = nn.Parameter(torch.randn(1, PATCHES + 1 + sum(further.values()), DIM))
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(DIM, 5)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        first = [getattr(self, name).expand(len(images), -1, -1) for name in self.names]
        tokens = torch.cat([*first, patches], dim=1) + self.positions
        for layer in self.layers:
            tokens = layer(tokens)
        return self.head(tokens[:, 0])


class EncoderBlock(nn.Module):
    """As torchvision has it: nn.MultiheadAttention, batch first, after a layer norm."""

    def __init__(self, heads: int = 2, batch_first: bool = True) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(DIM)
        self.self_attention = nn.MultiheadAttention(DIM, heads, dropout=0.1, batch_first=batch_first)
        self.batch_first = batch_first

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.ln_1(tokens)
        x = x if self.batch_first else x.transpose(0, 1)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        return tokens + (x if self.batch_first else x.transpose(0, 1))


class SelfAttention(nn.Module):
    """As Hugging Face has it: separate layers, under the one or the other name; further arguments go along."""

    def __init__(self, names: tuple[str, str, str], **along: object) -> None:
        super().__init__()
        self.num_attention_heads = HEADS
        self.names = names
        self.along = along
        for name in names:
            self.add_module(name, nn.Linear(DIM, DIM))

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, **along: object
    ) -> tuple[Tensor, None]:
        q, k, v = (getattr(self, name)(hidden_states).unflatten(-1, (HEADS, -1)).transpose(1, 2) for name in self.names)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask)
        return out.transpose(1, 2).flatten(2), None


class Layer(nn.Module):
    """Calls its attention by keyword, with whatever goes along."""

    def __init__(self, attention: SelfAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens + self.attention(hidden_states=tokens, **self.attention.along)[0]


class FusedAttention(nn.Module):
    """As timm has it, with norms of queries and keys and a scale of its own."""

    def __init__(self, normed: bool = True, scale: float = 0.3) -> None:
        super().__init__()
        self.num_heads, self.scale = HEADS, scale
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.q_norm = nn.LayerNorm(DIM // HEADS) if normed else nn.Identity()
        self.k_norm = nn.LayerNorm(DIM // HEADS) if normed else nn.Identity()
        self.attn_drop = nn.Dropout(0.1)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        drop = self.attn_drop.p if self.training else 0.0
        out = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, dropout_p=drop, scale=self.scale)
        return x + self.proj(out.transpose(1, 2).flatten(2))
