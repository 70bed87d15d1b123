"""Attention as other libraries lay it out: recomputed, it is what the modules themselves compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from einstellung.backbones import ResNet18
from einstellung.errors import InputError
from einstellung.probes.attention import (
    AttentionAdapter,
    AttentionProbe,
    attention_adapters,
    attention_weights,
    has_attention,
)
from einstellung.torch_compat import attention_hooks_called

from .transformers import HEADS, PATCHES, EncoderBlock, FusedAttention, Layer, SelfAttention, TokenNet, plain_attention

IMAGES = torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def seen_by(net, module):
    """What ``module`` is given when ``net`` answers."""
    inputs = []
    with (
        module.register_forward_pre_hook(
            lambda _, args, kwargs: inputs.append([*args, *kwargs.values()][0]), with_kwargs=True
        ),
        torch.no_grad(),
        attention_hooks_called(),
    ):
        net.eval()(IMAGES)
    return inputs[0]


def class_maps(weights, prefix=1):
    row = weights[:, :, 0, prefix:]
    return (row / row.sum(dim=-1, keepdim=True)).unflatten(-1, (4, 4))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("heads", [2, 3])  # an even number of heads takes torch's fast path
def test_multihead_attention_says_the_same_itself(batch_first, heads):
    net = TokenNet([EncoderBlock(heads, batch_first), EncoderBlock(heads, batch_first)], "class_token").eval()
    for block in net.layers:
        nn.init.normal_(block.self_attention.in_proj_bias)
    maps = AttentionProbe(net).maps(IMAGES)
    for layer, block in enumerate(net.layers):
        tokens = seen_by(net, block.self_attention)
        with torch.no_grad():
            _, expected = block.self_attention(tokens, tokens, tokens, need_weights=True, average_attn_weights=False)
        assert torch.allclose(maps.heads[:, layer], class_maps(expected), atol=1e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_torchs_own_encoder_layer(norm_first):
    layers = [nn.TransformerEncoderLayer(12, 2, 24, batch_first=True, norm_first=norm_first) for _ in range(2)]
    net = TokenNet(layers).eval()
    maps = AttentionProbe(net).maps(IMAGES)
    for number, layer in enumerate(layers):
        tokens = seen_by(net, layer.self_attn)
        with torch.no_grad():
            _, expected = layer.self_attn(tokens, tokens, tokens, need_weights=True, average_attn_weights=False)
        assert torch.allclose(maps.heads[:, number], class_maps(expected), atol=1e-6)
    with pytest.raises(InputError, match="attn_mask"):
        AttentionProbe(TokenNet([Masked(layers[0])])).maps(IMAGES)


@pytest.mark.parametrize("names", [("query", "key", "value"), ("q_proj", "k_proj", "v_proj")])
def test_separate_queries_and_keys(names):
    net = TokenNet([Layer(SelfAttention(names, head_mask=None, output_attentions=False)) for _ in range(2)])
    maps = AttentionProbe(net).maps(IMAGES)
    for number, layer in enumerate(net.layers):
        query, key = (getattr(layer.attention, name) for name in names[:2])
        expected = plain_attention(seen_by(net, layer.attention), query, key, HEADS)
        assert torch.allclose(maps.heads[:, number].double(), class_maps(expected), atol=1e-6)


def test_norms_and_scale_of_a_fused_layer():
    """Values that are one-hot over the tokens make the attention itself the output of torch's own function."""
    net = TokenNet([FusedAttention()])
    attention = net.layers[0]
    nn.init.normal_(attention.q_norm.weight)
    tokens = seen_by(net, attention)
    q, k, _ = attention.qkv(tokens).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
    one_hot = torch.eye(tokens.shape[1]).expand(3, HEADS, -1, -1)
    expected = nn.functional.scaled_dot_product_attention(
        attention.q_norm(q), attention.k_norm(k), one_hot, scale=attention.scale
    )
    assert torch.allclose(AttentionProbe(net).maps(IMAGES).heads[:, 0], class_maps(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("further", "prefix"), [({}, 1), ({"dist_token": 1}, 2), ({"reg_token": 4}, 5), ({"distillation_token": 1}, 2)]
)
def test_tokens_before_the_patches_are_no_patches(further, prefix):
    net = TokenNet([FusedAttention()], **further)
    probe = AttentionProbe(net)
    assert probe.prefix_tokens == prefix
    weights = probe.adapter.weights(net.layers[0], seen_by(net, net.layers[0]))
    assert weights.shape == (3, HEADS, PATCHES + prefix, PATCHES + prefix)
    assert torch.allclose(probe.maps(IMAGES).heads[:, 0], class_maps(weights, prefix), atol=1e-6)


def test_the_number_that_a_model_declares_wins():
    net = TokenNet([FusedAttention()], extra=2)
    net.num_prefix_tokens = 3
    assert AttentionProbe(net).maps(IMAGES).grid == (4, 4)
    del net.num_prefix_tokens
    with pytest.raises(InputError, match="18 tokens do not form a grid of square patches of an image of 32x32"):
        AttentionProbe(net).maps(IMAGES)


def test_grids_follow_the_sides_of_the_image():
    grid = AttentionAdapter().grid
    assert grid(196, 224, 224) == (14, 14)
    assert grid(32, 16, 32) == (4, 8)
    for patches, height, width in ((8, 32, 32), (0, 32, 32), (32, 16, 31)):
        with pytest.raises(InputError, match="do not form a grid"):
            grid(patches, height, width)


def test_a_class_of_the_users_own():
    class Lookup(nn.Module):
        """No attention that anybody else would recognise."""

        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Linear(12, 6), nn.Linear(12, 6)

        def forward(self, tokens):
            return tokens + attention_weights(self.q(tokens), self.k(tokens)) @ tokens

    class LookupAttention(AttentionAdapter):
        def modules(self, model):
            return list(model.layers)

        def weights(self, module, tokens):
            return attention_weights(module.q(tokens), module.k(tokens)).unsqueeze(1)

    net = TokenNet([Lookup(), Lookup()])
    assert not has_attention(net)
    maps = AttentionProbe(net, LookupAttention()).maps(IMAGES)
    layer = net.layers[1]
    expected = plain_attention(seen_by(net, layer), layer.q, layer.k, heads=1)
    assert torch.allclose(maps.heads[:, 1].double(), class_maps(expected), atol=1e-6)

    class Flat(LookupAttention):
        def weights(self, module, tokens):
            return super().weights(module, tokens)[:, 0]

    with pytest.raises(InputError, match=r"shape \(3, 17, 17\), not \[batch, heads, tokens, tokens\]"):
        AttentionProbe(net, Flat()).maps(IMAGES)


class Masked(nn.Module):
    """Tokens that may not see what comes after them."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, tokens):
        return self.layer(tokens, src_mask=nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]))


class Biased(FusedAttention):
    def __init__(self):
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.zeros(3, 3))


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Biased(), "relative_position_bias_table"),
        (Layer(SelfAttention(("query", "key", "value"), attention_mask=torch.zeros(17, 17))), "attention_mask"),
        (Layer(SelfAttention(("q_proj", "k_proj", "v_proj"), position_embeddings=(torch.ones(1),))), "position_emb"),
        (Layer(SelfAttention(("query", "key", "value"), is_causal=True)), "is_causal"),
    ],
)
def test_what_would_change_the_weights_unseen_is_refused(layer, words):
    with pytest.raises(InputError, match=words):
        AttentionProbe(TokenNet([layer])).maps(IMAGES)


def test_parts_of_unknown_meaning_are_refused():
    attention = FusedAttention()
    attention.talking_heads = nn.Linear(HEADS, HEADS)
    with pytest.raises(InputError, match=r"FusedAttention depends on unknown parts \(talking_heads\)"):
        AttentionProbe(TokenNet([attention])).maps(IMAGES)


def test_models_that_do_not_fit_are_refused_in_one_line():
    with pytest.raises(InputError, match="ResNet18 has no known attention"):
        AttentionProbe(ResNet18(5, width=4))
    with pytest.raises(InputError, match=r"TokenNet has no known class token \(cls_token,"):
        AttentionProbe(TokenNet([FusedAttention()], "start"))
    with pytest.raises(InputError, match="fits several adapters: choose adapter= from qkv, torch"):
        AttentionProbe(TokenNet([FusedAttention(), EncoderBlock()]))
    with pytest.raises(InputError, match="TorchAttention finds no attention in ResNet18"):
        AttentionProbe(ResNet18(5, width=4), "torch")
    with pytest.raises(InputError, match="unknown attention adapter 'torhc': did you mean 'torch'"):
        AttentionProbe(TokenNet([EncoderBlock()]), "torhc")
    assert attention_adapters.names() == ["qkv", "query_key", "torch"]


def test_a_layer_used_twice_or_never_is_refused():
    twice = FusedAttention()
    with pytest.raises(InputError, match="is called 2 times per batch"):
        AttentionProbe(TokenNet([twice, twice])).maps(IMAGES)
    net = TokenNet([FusedAttention()])
    net.unused = FusedAttention()
    with pytest.raises(InputError, match=r"module 2 \(FusedAttention\) is called 0 times"):
        AttentionProbe(net).maps(IMAGES)
