"""The probe on our own transformers: plain numbers, and a model that does not notice."""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from einstellung.backbones import VisionTransformer, build_backbone
from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.metrics.attention import diversity, entropy
from einstellung.probes.attention import AttentionProbe
from einstellung.probes.attention.adapters import QkvAttention
from einstellung.streams import Presentation, shapes

from .transformers import FusedAttention, TokenNet, plain_attention


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(1)
    net = VisionTransformer(5, dim=12, depth=3, heads=3)
    for block in net.blocks:
        nn.init.normal_(block.attn.qkv.weight, std=0.8)  # attention that is far from even
    return net


@pytest.fixture(scope="module")
def images():
    return torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(2))


def plain_matrices(net, images):
    """Every layer's attention [B, H, T, T] in double precision, by going through the net block by block."""
    net = net.double()
    with torch.no_grad():
        tokens = torch.cat([net.cls_token.expand(len(images), -1, -1), net.patch_embed(images.double())], dim=1)
        tokens = tokens + net.pos_embed
        matrices = []
        for block in net.blocks:
            normed = block.norm1(tokens)
            query, key, value = (nn.Linear(12, 12, dtype=torch.float64) for _ in range(3))
            for number, layer in enumerate((query, key, value)):
                layer.weight.copy_(block.attn.qkv.weight[12 * number : 12 * (number + 1)])
                layer.bias.copy_(block.attn.qkv.bias[12 * number : 12 * (number + 1)])
            weights = plain_attention(normed, query, key, heads=3)
            matrices.append(weights)
            heads = value(normed).unflatten(-1, (3, 4)).transpose(1, 2)
            tokens = tokens + block.attn.proj((weights @ heads).transpose(1, 2).flatten(2))
            tokens = tokens + block.mlp(block.norm2(tokens))
        logits = net.head(net.norm(tokens)[:, 0])
    net.float()
    return matrices, logits


def normalised(row):
    return (row / row.sum(dim=-1, keepdim=True)).unflatten(-1, (8, 8))


def rolled_out(matrices):
    """The class token's row of the product, over the patches."""
    rolled = torch.eye(65, dtype=torch.float64)
    for weights in matrices:
        mixed = 0.5 * weights.double().mean(dim=1) + 0.5 * torch.eye(65, dtype=torch.float64)
        rolled = mixed / mixed.sum(dim=-1, keepdim=True) @ rolled
    return rolled[:, 0, 1:]


def test_maps_against_plain_attention_in_double(net, images):
    matrices, logits = plain_matrices(net, images)
    with torch.no_grad():
        assert torch.allclose(net.eval()(images).double(), logits, atol=1e-4)  # the plain way is the net's way
    maps = AttentionProbe(net).maps(images)
    assert maps.heads.shape == (5, 3, 3, 8, 8)
    for layer, weights in enumerate(matrices):
        assert torch.allclose(maps.heads[:, layer].double(), normalised(weights[:, :, 0, 1:]), atol=1e-5)
    assert torch.allclose(maps.heads.sum(dim=(-2, -1)), torch.ones(5, 3, 3))


def test_rollout_against_the_product_of_matrices(net, images):
    matrices, _ = plain_matrices(net, images)
    assert torch.allclose(
        AttentionProbe(net).maps(images).rollout.double(), normalised(rolled_out(matrices)), atol=1e-5
    )


def test_the_model_does_not_notice(images):
    """The same bits with and without the probe; modes, hooks and generator as before."""
    net = TokenNet([FusedAttention(), nn.Dropout(0.5), FusedAttention()]).train()
    net.layers[2].eval()  # a part that its owner has frozen
    with torch.inference_mode():
        net.eval()
        alone = net(images)
        net.train()
        net.layers[2].eval()
    modes = [module.training for module in net.modules()]
    state = torch.get_rng_state()
    answers = []
    with net.register_forward_hook(lambda module, args, output: answers.append(output)):
        AttentionProbe(net).maps(images)
    assert torch.equal(answers[0], alone)
    assert [module.training for module in net.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_pre_hooks for module in net.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in net.parameters())


def test_a_model_that_draws_even_in_evaluation_does_not_move_the_generator(images):
    net = TokenNet([FusedAttention()])
    net.register_forward_pre_hook(lambda module, args: (args[0] + torch.randn_like(args[0]),))
    state = torch.get_rng_state()
    AttentionProbe(net).maps(images)
    assert torch.equal(torch.get_rng_state(), state)


def test_hooks_and_modes_are_put_back_when_something_raises(images):
    class Broken(nn.Module):
        def forward(self, tokens):
            raise RuntimeError("out of order")

    net = TokenNet([FusedAttention(), Broken()]).train()
    with pytest.raises(RuntimeError, match="out of order"):
        AttentionProbe(net).maps(images)
    assert all(module.training for module in net.modules())
    assert not any(module._forward_pre_hooks for module in net.modules())


def test_only_one_layers_matrix_is_alive(net, images):
    class Watching(QkvAttention):
        def __init__(self):
            self.made = []

        def weights(self, module, *args, **kwargs):
            assert all(made() is None for made in self.made)
            weights = super().weights(module, *args, **kwargs)
            self.made.append(weakref.ref(weights))
            return weights

    watching = Watching()
    AttentionProbe(net, watching, batch_size=2).summarise([(images, None)])
    assert [made() for made in watching.made] == [None] * 9  # three layers, three parts of the batch


def test_neither_the_batch_nor_its_parts_matter(net, images):
    region = PatchCue(place="per-index").region(torch.arange(5), 32, 32)
    whole = AttentionProbe(net).summarise([(images, region)])
    parts = AttentionProbe(net, batch_size=2).summarise(
        (images[rows], region[rows]) for rows in (slice(0, 1), slice(1, 5))
    )
    assert whole.n == parts.n == 5
    for name in ("mean_map_heads", "mean_map_rollout", "share_heads", "share_layers", "share_rollout"):
        assert getattr(whole, name) == pytest.approx(getattr(parts, name), abs=1e-6)
    for name in ("entropy_heads", "entropy_layers", "entropy_rollout", "diversity_heads", "diversity_layers"):
        assert getattr(whole, name) == pytest.approx(getattr(parts, name), abs=1e-6)


def test_the_summary_is_that_of_the_maps(net, images):
    """A cue of 4x4 pixels at the corner is token 0 and nothing else, where a token has 4x4 pixels."""
    probe = AttentionProbe(net)
    summary = probe.summarise([(images, PatchCue().region(torch.arange(5), 32, 32))])
    heads, rollout = (values.double().numpy() for values in (probe.maps(images).heads, probe.maps(images).rollout))
    layers = heads.mean(axis=2)
    assert summary.grid == (8, 8)
    assert summary.mean_map_heads == pytest.approx(heads.mean(axis=0))
    assert summary.mean_map_rollout == pytest.approx(rollout.mean(axis=0))
    assert summary.share_heads == pytest.approx(heads[..., 0, 0].mean(axis=0))
    assert summary.share_layers == pytest.approx(layers[..., 0, 0].mean(axis=0))
    assert summary.share_rollout == pytest.approx(rollout[:, 0, 0].mean())
    assert summary.entropy_heads == pytest.approx(entropy(heads).mean(axis=0))
    assert summary.entropy_layers == pytest.approx(entropy(layers).mean(axis=0))
    assert summary.entropy_rollout == pytest.approx(entropy(rollout).mean())
    assert summary.diversity_heads == pytest.approx(diversity(heads))
    assert summary.diversity_layers == pytest.approx(diversity(layers))
    assert summary.diversity_rollout == pytest.approx(float(diversity(rollout)))
    assert summary.share_heads.dtype == summary.mean_map_heads.dtype == np.float64


def test_a_cue_across_tokens_is_weighed_by_area(net, images):
    """Rows 3..6, columns 5..8: token rows 0, 1 by 1/4, 3/4; token columns 1, 2 by 3/4, 1/4."""
    region = PatchCue(place=(3, 5)).region(torch.arange(5), 32, 32)
    summary = AttentionProbe(net).summarise([(images, region)])
    rollout = AttentionProbe(net).maps(images).rollout.double().mean(dim=0)
    rows = 0.25 * rollout[0] + 0.75 * rollout[1]
    assert summary.share_rollout == pytest.approx(float(0.75 * rows[1] + 0.25 * rows[2]))


def test_a_region_of_32_pixels_fits_an_image_enlarged_to_224(images):
    """4 pixels of 32 are 28 of 224: one token of 16 and three quarters of the next."""
    torch.manual_seed(3)
    net = VisionTransformer(5, dim=12, depth=1, patch=16, image=224)
    large = nn.functional.interpolate(images[:2], size=224, mode="bilinear")
    small_region = PatchCue().region(torch.arange(2), 32, 32)
    large_region = PatchCue(size=28).region(torch.arange(2), 224, 224)
    probe = AttentionProbe(net)
    summary = probe.summarise([(large, small_region)])
    rollout = probe.maps(large).rollout.double().mean(dim=0)
    by_hand = rollout[0, 0] + 0.75 * (rollout[0, 1] + rollout[1, 0]) + 0.75**2 * rollout[1, 1]
    assert summary.grid == (14, 14)
    assert summary.share_rollout == pytest.approx(float(by_hand))
    assert probe.summarise([(large, large_region)]).share_rollout == pytest.approx(summary.share_rollout)


def test_vit_base_answers_and_is_looked_at_on_images_of_224():
    """Two images of 32x32 pixels, shown at 224 with the cue on them, through the whole of ViT-B/16."""
    stream = replace(shapes(PatchCue(), size=32, train_per_class=5, test_per_class=1), input_size=224)
    images = stream.split("T2_shortcut_normal").images.take(torch.arange(2))
    inputs = Presentation(stream).normalised(images.images)
    net = build_backbone("vit_base_patch16_224", {}, stream.n_outputs, seed=1).eval()
    with torch.inference_mode():
        assert net(inputs).shape == (2, stream.n_outputs)
    summary = AttentionProbe(net).summarise([(inputs, stream.cue.region(images.index, 32, 32))])
    assert summary.mean_map_heads.shape == (12, 12, 14, 14)
    assert summary.mean_map_heads.sum(axis=(-2, -1)) == pytest.approx(np.ones((12, 12)))
    mean = summary.mean_map_rollout
    by_hand = mean[0, 0] + 0.75 * (mean[0, 1] + mean[1, 0]) + 0.75**2 * mean[1, 1]  # 28 pixels are 1.75 tokens
    assert summary.share_rollout == pytest.approx(by_hand)


def test_without_a_region_there_is_no_share(net, images):
    summary = AttentionProbe(net).summarise([(images[:1], None)])
    assert summary.share_heads is None
    assert summary.share_layers is None
    assert summary.share_rollout is None
    assert summary.diversity_heads is None
    assert summary.diversity_rollout is None
    assert 0 < summary.entropy_rollout < np.log(64)


def test_half_precision_of_the_caller_reaches_the_net_but_not_the_numbers(net, images):
    class Keeping(QkvAttention):
        def weights(self, module, *args, **kwargs):
            kept.append(super().weights(module, *args, **kwargs))
            return kept[-1].clone()

    kept = []
    plain = AttentionProbe(net).maps(images)
    with torch.autocast("cpu", torch.bfloat16):
        half = AttentionProbe(net, Keeping()).maps(images)
    assert not torch.allclose(half.heads, plain.heads, atol=1e-4)
    assert torch.allclose(torch.cat(kept).sum(dim=-1), torch.ones(()), atol=1e-5)
    assert torch.allclose(half.rollout.double(), normalised(rolled_out(kept)), atol=1e-6)


def test_a_compiled_model_is_looked_at_in_its_plain_form(images):
    net = VisionTransformer(5, dim=12, depth=1)
    net.compile(backend="eager")
    with torch.inference_mode():
        net.eval()(images)  # compiled by now as the probe will call it, and without hooks
    compiled = AttentionProbe(net).maps(images)
    wrapped = AttentionProbe(torch.compile(net, backend="eager")).maps(images)
    net._compiled_call_impl = None
    plain = AttentionProbe(net).maps(images)
    assert torch.equal(compiled.rollout, plain.rollout)
    assert torch.equal(wrapped.rollout, plain.rollout)


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        (lambda x: [], "no images"),
        (lambda x: [(x, torch.ones(4, 1, 32, 32))], r"\(4, 1, 32, 32\), not \(5, 1, height, width\)"),
        (lambda x: [(x, torch.ones(5, 32, 32))], r"\(5, 32, 32\), not"),
        (lambda x: [(x, torch.ones(5, 1, 32, 32)), (x, None)], "some batches have a region and others do not"),
    ],
)
def test_what_cannot_be_summed_up_is_refused(net, images, batches, words):
    with pytest.raises(InputError, match=words):
        AttentionProbe(net).summarise(batches(images))


def test_images_of_several_sizes_and_wrong_batch_sizes_are_refused(images):
    net = TokenNet([FusedAttention()])
    net.positions = nn.Parameter(torch.zeros(1, 1, 12))  # fits any number of patches
    with pytest.raises(InputError, match=r"grids of \(4, 4\) and \(2, 2\)"):
        AttentionProbe(net).summarise([(images, None), (images[..., :16, :16], None)])
    with pytest.raises(InputError, match="batch_size is 0"):
        AttentionProbe(net, batch_size=0)
    for inputs in (images[0], images[:0]):
        with pytest.raises(InputError, match="inputs have the shape"):
            AttentionProbe(net).maps(inputs)


def test_an_empty_batch_adds_nothing(net, images):
    assert AttentionProbe(net).summarise([(images[:0], None), (images, None)]).n == 5


def test_an_adapter_is_an_instance(net):
    with pytest.raises(InputError, match=r"give an instance, QkvAttention\(\)"):
        AttentionProbe(net, adapter=QkvAttention)


def test_a_net_that_has_diverged_is_named(images):
    net = VisionTransformer(5, dim=12, depth=2)
    nn.init.constant_(net.blocks[1].attn.qkv.weight, float("nan"))
    with pytest.raises(InputError, match="attention of layer 2 to the patches is zero or not a number"):
        AttentionProbe(net).maps(images)
