"""Vision transformers (Dosovitskiy et al., 2021): pre-norm blocks, class token, learned positions.

Parameters have timm's names, so that weights from elsewhere can be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.registry import backbones
from einstellung.backbones.weights import load_weights
from einstellung.errors import InputError

Prefix = tuple[Tensor, Tensor]  # keys and values [N, tokens, dim]


class Attention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor, prefix: Prefix | None = None) -> Tensor:
        batch, tokens, dim = x.shape
        query, key, value = self.qkv(x).view(batch, tokens, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        if prefix is not None:
            before = [part.view(batch, -1, self.heads, dim // self.heads).transpose(1, 2) for part in prefix]
            key, value = torch.cat((before[0], key), dim=2), torch.cat((before[1], value), dim=2)
        out = F.scaled_dot_product_attention(query, key, value)
        return self.proj(out.transpose(1, 2).reshape(batch, tokens, dim))


class Mlp(nn.Module):
    """Two layers with a GELU between them."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each with pre-norm and a residual connection."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim)

    def forward(self, x: Tensor, prefix: Prefix | None = None) -> Tensor:
        x = x + self.attn(self.norm1(x), prefix)
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    """Non-overlapping patches, each projected to a token."""

    def __init__(self, patch: int, dim: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, stride=patch)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x).flatten(2).transpose(1, 2)


class Prompts(Protocol):
    """What a method may put before the tokens of an image: it computes the head's input instead of the class token."""

    def features(self, net: VisionTransformer, x: Tensor) -> Tensor: ...


@backbones.register("vit")
class VisionTransformer(nn.Module):
    """``dim`` channels, ``depth`` blocks of ``heads`` heads, over ``patch`` x ``patch`` pixels of ``image`` x ``image``.

    ``weights``: a file to start from, in the names of timm, torchvision or Hugging Face.

    >>> VisionTransformer(60)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 60])
    """

    num_prefix_tokens = 1  # the class token
    prompts: nn.Module | None

    def __init__(
        self,
        n_outputs: int,
        dim: int = 96,
        depth: int = 6,
        heads: int = 3,
        patch: int = 4,
        image: int = 32,
        weights: str | None = None,
    ) -> None:
        super().__init__()
        if min(dim, depth, heads, patch, image) < 1:
            raise InputError("backbone.dim, depth, heads, patch and image must all be at least 1")
        if dim % heads:
            raise InputError(f"backbone.dim {dim} is not a multiple of backbone.heads {heads}")
        if image % patch:
            raise InputError(f"backbone.image {image} is not a multiple of backbone.patch {patch}")
        self.patch_embed = PatchEmbed(patch, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, n_outputs)
        self.register_module("prompts", None)  # see Prompts
        for parameter in (self.cls_token, self.pos_embed):
            nn.init.trunc_normal_(parameter, std=0.02)
        if weights is not None:
            load_weights(self, weights)

    def stages(self) -> dict[str, nn.Module]:
        """The blocks, by name."""
        return {f"block {number}": block for number, block in enumerate(self.blocks, start=1)}

    def tokens(self, x: Tensor) -> Tensor:
        """The input of the first block: the class token and the patches, with their positions."""
        patches = self.patch_embed(x)
        return torch.cat([self.cls_token.expand(len(x), -1, -1), patches], dim=1) + self.pos_embed

    def class_token(self, x: Tensor, prefixes: Sequence[Prefix | None] | None = None) -> Tensor:
        """The class token after the last norm, with a prefix to the keys and values of some blocks."""
        tokens = self.tokens(x)
        if prefixes is None:
            return self.norm(self.blocks(tokens))[:, 0]
        for block, prefix in zip(self.blocks, prefixes, strict=True):
            tokens = block(tokens, prefix)
        return self.norm(tokens)[:, 0]

    def features(self, x: Tensor) -> Tensor:
        """The input of the head: the class token, unless a method has added prompts."""
        prompts: Prompts | None = self.prompts  # type: ignore[assignment]
        return self.class_token(x) if prompts is None else prompts.features(self, x)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


@backbones.register("vit_base_patch16_224")
class ViTBase16(VisionTransformer):
    """ViT-B/16 for images of 224 x 224; ``weights`` as in :class:`VisionTransformer`."""

    def __init__(self, n_outputs: int, weights: str | None = None) -> None:
        super().__init__(n_outputs, dim=768, depth=12, heads=12, patch=16, image=224, weights=weights)
