"""Shapes, sizes, and weights that depend on nothing but their address."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones import ResNet18, VisionTransformer, build_backbone
from einstellung.errors import InputError


def test_the_papers_net_has_the_known_number_of_weights():
    """ResNet-18 with a 3x3 stem and 10 outputs has 11,173,962 parameters (counted in many public write-ups)."""
    assert sum(p.numel() for p in ResNet18(10).parameters()) == 11_173_962


@pytest.mark.parametrize("width", [4, 8, 20])
def test_any_width(width):
    net = ResNet18(7, width=width)
    assert net(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    assert net.features(torch.zeros(2, 3, 32, 32)).shape == (2, 8 * width)


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


@pytest.mark.parametrize("name", ["resnet18", "vit"])
def test_weights_are_a_function_of_the_seed_alone(name):
    options = {"width": 4} if name == "resnet18" else {"dim": 12}
    torch.manual_seed(0)
    one = build_backbone(name, options, 6, seed=3)
    torch.rand(17)
    before = torch.get_rng_state()
    other = build_backbone(name, options, 6, seed=3)
    assert torch.equal(torch.get_rng_state(), before)  # and building draws nothing from the global generator
    third = build_backbone(name, options, 6, seed=4)
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert any(not torch.equal(a, b) for a, b in zip(one.parameters(), third.parameters(), strict=True))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("resnet18", {"widht": 8}, "did you mean 'width'"),
        ("resnet18", {"width": 0}, "backbone.width"),
        ("resnet", {}, "did you mean 'resnet18'"),
        ("vit", {"dim": 10, "heads": 3}, "multiple of backbone.heads"),
        ("vit", {"patch": 5}, "multiple of backbone.patch"),
    ],
)
def test_wrong_options_are_named(name, options, words):
    with pytest.raises(InputError, match=words):
        build_backbone(name, options, 5, seed=0)
