"""Real models of timm, Hugging Face and torchvision: their attention by the probe, their weights in our nets."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from einstellung.backbones import VisionTransformer
from einstellung.errors import InputError
from einstellung.probes.attention import AttentionProbe, has_attention

SMALL = {"dim": 24, "depth": 2, "heads": 3, "patch": 8, "image": 32}


def images(side, count=2):
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(0))


def lively(model):
    """Fresh weights attend almost evenly: make them differ enough for a test to see."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in ("qkv", "query", "key", "q_proj", "k_proj", "in_proj")):
                parameter.normal_(std=1.5 / parameter.shape[-1] ** 0.5 if parameter.dim() > 1 else 0.3)
    return model.eval()


def class_maps(weights, prefix, grid):
    row = weights[:, :, 0, prefix:]
    return (row / row.sum(dim=-1, keepdim=True)).unflatten(-1, grid)


def loaded(model, path, n_outputs, **options):
    save_file({name: value.clone() for name, value in model.state_dict().items()}, path)
    return VisionTransformer(n_outputs, **options, weights=str(path)).eval()


def answers(model, inputs):
    with torch.inference_mode():
        output = model(inputs)
    return getattr(output, "logits", output)


def watched_answers(model, inputs):
    """What the model answers while the probe looks on."""
    kept = []
    with model.register_forward_hook(lambda module, args, output: kept.append(output)):
        AttentionProbe(model).maps(inputs)
    return getattr(kept[0], "logits", kept[0])


@pytest.mark.parametrize(
    ("name", "options", "prefix"),
    [
        ("vit_tiny_patch16_224", {}, 1),
        ("deit_tiny_distilled_patch16_224", {"depth": 2}, 2),
        ("vit_small_patch14_reg4_dinov2", {"depth": 2, "img_size": 56}, 5),
    ],
)
def test_timm(name, options, prefix):
    """Against timm's own unfused way, whose matrix is caught where it is dropped out."""
    timm = pytest.importorskip("timm")
    model = lively(timm.create_model(name, pretrained=False, num_classes=10, **options))
    inputs = images(model.patch_embed.img_size[0])
    assert torch.equal(watched_answers(model, inputs), answers(model, inputs))
    probe = AttentionProbe(model)
    assert probe.prefix_tokens == prefix
    maps = probe.maps(inputs)
    expected = []
    for block in model.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_hook(lambda module, args, output: expected.append(output))
    answers(model, inputs)
    assert len(expected) == maps.heads.shape[1]
    for layer, weights in enumerate(expected):
        assert torch.allclose(maps.heads[:, layer], class_maps(weights, prefix, maps.grid), atol=1e-5)


def test_timm_weights(tmp_path):
    timm = pytest.importorskip("timm")
    model = lively(timm.create_model("vit_tiny_patch16_224", pretrained=False, num_classes=10))
    ours = loaded(model, tmp_path / "timm.safetensors", 10, dim=192, depth=12, heads=3, patch=16, image=224)
    assert torch.allclose(answers(ours, images(224)), answers(model, images(224)), atol=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("beit_base_patch16_224", {"depth": 1}, "q_bias"),
        ("eva02_tiny_patch14_224", {"depth": 1}, "rope"),
        ("swin_tiny_patch4_window7_224", {}, "no known class token"),
    ],
)
def test_timm_models_whose_attention_is_another_are_refused(name, options, words):
    """Biases of position and rotations would be left out unseen."""
    timm = pytest.importorskip("timm")
    model = timm.create_model(name, pretrained=False, num_classes=10, **options).eval()
    with pytest.raises(InputError, match=words):
        AttentionProbe(model).maps(images(224, count=1))


def test_timm_convolutions_have_no_attention():
    timm = pytest.importorskip("timm")
    assert not has_attention(timm.create_model("resnet18", pretrained=False))


def hugging_face(attention, **options):
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=96,
        image_size=32,
        patch_size=8,
        num_labels=7,
        attn_implementation=attention,
        **options,
    )
    torch.manual_seed(2)
    return lively(transformers.ViTForImageClassification(config))


def test_hugging_face():
    """Against the attentions that the model itself gives out in its eager form."""
    expected = hugging_face("eager")(images(32), output_attentions=True).attentions
    model = hugging_face("sdpa")
    maps = AttentionProbe(model).maps(images(32))
    assert maps.heads.shape == (2, 2, 3, 4, 4)
    for layer, weights in enumerate(expected):
        assert torch.allclose(maps.heads[:, layer], class_maps(weights, 1, (4, 4)), atol=1e-5)
    assert torch.equal(watched_answers(model, images(32)), answers(model, images(32)))


@pytest.mark.parametrize(
    ("kind", "options", "prefix"),
    [
        ("DeiT", {}, 2),
        ("Dinov2", {"mlp_ratio": 2}, 1),
        ("Dinov2WithRegisters", {"num_register_tokens": 3}, 4),
        ("CLIPVision", {"intermediate_size": 48}, 1),
    ],
)
def test_kin_of_hugging_faces_vit(kind, options, prefix):
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, image_size=32, patch_size=8, **options
    )
    config._attn_implementation = "eager"
    model = lively(getattr(transformers, f"{kind}Model")(config))
    with torch.inference_mode():
        expected = model(images(32), output_attentions=True).attentions
    maps = AttentionProbe(model).maps(images(32))
    for layer, weights in enumerate(expected):
        assert torch.allclose(maps.heads[:, layer], class_maps(weights, prefix, (4, 4)), atol=1e-5)


def test_hugging_face_weights(tmp_path):
    model = hugging_face("sdpa", layer_norm_eps=1e-6)
    ours = loaded(model, tmp_path / "hugging_face.safetensors", 7, **SMALL)
    assert torch.allclose(answers(ours, images(32)), answers(model, images(32)), atol=1e-5)
    model.save_pretrained(tmp_path / "published")  # may write the names of older versions
    ours = VisionTransformer(7, **SMALL, weights=str(tmp_path / "published" / "model.safetensors")).eval()
    assert torch.allclose(answers(ours, images(32)), answers(model, images(32)), atol=1e-5)


def torchvision_vit():
    torchvision = pytest.importorskip("torchvision", exc_type=ImportError)
    torch.manual_seed(3)
    return lively(torchvision.models.VisionTransformer(32, 8, 2, 3, 24, 96, num_classes=7))


def test_torchvision():
    model = torchvision_vit()
    torch.nn.init.normal_(model.heads.head.weight)  # torchvision's fresh head is zero
    maps = AttentionProbe(model).maps(images(32))
    expected = []
    for block in model.encoder.layers:
        attention = block.self_attention
        attention.register_forward_pre_hook(lambda module, args: expected.append((module, args)))
    answers(model, images(32))
    for layer, (attention, args) in enumerate(list(expected)):
        _, weights = attention(*args, need_weights=True, average_attn_weights=False)
        assert torch.allclose(maps.heads[:, layer], class_maps(weights, 1, (4, 4)), atol=1e-5)
    assert torch.equal(watched_answers(model, images(32)), answers(model, images(32)))


def test_torchvision_weights(tmp_path):
    model = torchvision_vit()
    torch.nn.init.normal_(model.heads.head.weight)
    ours = loaded(model, tmp_path / "torchvision.safetensors", 7, **SMALL)
    assert torch.allclose(answers(ours, images(32)), answers(model, images(32)), atol=1e-5)
