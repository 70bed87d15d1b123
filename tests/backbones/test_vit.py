"""Vision transformers: attention by hand, timm's parameter names."""

from __future__ import annotations

import torch

from einstellung.backbones import VisionTransformer


def test_vit_attention_against_the_formula():
    """One head by hand: softmax(q k^T / sqrt(d)) v."""
    net = VisionTransformer(5, dim=12, depth=1, heads=1, patch=8)
    attention = net.blocks[0].attn
    tokens = torch.randn(2, 9, 12)
    q, k, v = attention.qkv(tokens).split(12, dim=-1)
    by_hand = attention.proj((q @ k.transpose(1, 2) / 12**0.5).softmax(dim=-1) @ v)
    assert torch.allclose(attention(tokens), by_hand, atol=1e-6)


def test_vit_uses_the_usual_weight_names():
    names = set(VisionTransformer(5, depth=1).state_dict())
    assert {
        "cls_token",
        "pos_embed",
        "patch_embed.proj.weight",
        "blocks.0.attn.qkv.weight",
        "blocks.0.mlp.fc1.bias",
    } <= names
    assert {"norm.weight", "head.weight", "blocks.0.norm1.weight", "blocks.0.attn.proj.bias"} <= names
