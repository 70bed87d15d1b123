"""Weights from files: every library's names, and nothing silently left out."""

from __future__ import annotations

import os
import pickle
import warnings

import pytest
import torch
from safetensors.torch import save_file

from einstellung.backbones import ResNet18, VisionTransformer, ViTBase16, build_backbone, weights_digest
from einstellung.backbones.weights import read_weights
from einstellung.errors import InputError

SMALL = {"dim": 12, "depth": 2, "heads": 3, "patch": 8}


def pretrained(**options):
    torch.manual_seed(11)
    return VisionTransformer(5, **{**SMALL, **options})


def torchvision_names(state, first="linear_1", second="linear_2"):
    """Written out line by line, as torchvision lays its transformer out."""
    renamed = {
        "class_token": state["cls_token"],
        "conv_proj.weight": state["patch_embed.proj.weight"],
        "conv_proj.bias": state["patch_embed.proj.bias"],
        "encoder.pos_embedding": state["pos_embed"],
    }
    for block in range(2):
        ours, theirs = f"blocks.{block}.", f"encoder.layers.encoder_layer_{block}."
        for kind in ("weight", "bias"):
            renamed[f"{theirs}ln_1.{kind}"] = state[f"{ours}norm1.{kind}"]
            renamed[f"{theirs}self_attention.in_proj_{kind}"] = state[f"{ours}attn.qkv.{kind}"]
            renamed[f"{theirs}self_attention.out_proj.{kind}"] = state[f"{ours}attn.proj.{kind}"]
            renamed[f"{theirs}ln_2.{kind}"] = state[f"{ours}norm2.{kind}"]
            renamed[f"{theirs}mlp.{first}.{kind}"] = state[f"{ours}mlp.fc1.{kind}"]
            renamed[f"{theirs}mlp.{second}.{kind}"] = state[f"{ours}mlp.fc2.{kind}"]
    for kind in ("weight", "bias"):
        renamed[f"encoder.ln.{kind}"] = state[f"norm.{kind}"]
        renamed[f"heads.head.{kind}"] = state[f"head.{kind}"]
    return renamed


def hugging_face_names(state, prefix="vit.", new=False):
    """As Hugging Face lays its ViT out: keys before queries here, because the order in a file means nothing."""
    renamed = {
        f"{prefix}embeddings.cls_token": state["cls_token"],
        f"{prefix}embeddings.position_embeddings": state["pos_embed"],
        f"{prefix}embeddings.patch_embeddings.projection.weight": state["patch_embed.proj.weight"],
        f"{prefix}embeddings.patch_embeddings.projection.bias": state["patch_embed.proj.bias"],
    }
    names = (
        (
            "layers.{}.",
            "attention.k_proj",
            "attention.v_proj",
            "attention.q_proj",
            "attention.o_proj",
            "mlp.fc1",
            "mlp.fc2",
        )
        if new
        else (
            "encoder.layer.{}.",
            *(f"attention.attention.{part}" for part in ("key", "value", "query")),
            *("attention.output.dense", "intermediate.dense", "output.dense"),
        )
    )
    for block in range(2):
        ours, theirs = f"blocks.{block}.", prefix + names[0].format(block)
        for kind in ("weight", "bias"):
            query, key, value = state[f"{ours}attn.qkv.{kind}"].chunk(3)
            parts = (
                key,
                value,
                query,
                *(state[f"{ours}{part}.{kind}"] for part in ("attn.proj", "mlp.fc1", "mlp.fc2")),
            )
            renamed |= {f"{theirs}{name}.{kind}": part for name, part in zip(names[1:], parts, strict=True)}
            renamed[f"{theirs}layernorm_before.{kind}"] = state[f"{ours}norm1.{kind}"]
            renamed[f"{theirs}layernorm_after.{kind}"] = state[f"{ours}norm2.{kind}"]
    for kind in ("weight", "bias"):
        renamed[f"{prefix}layernorm.{kind}"] = state[f"norm.{kind}"]
        renamed[f"classifier.{kind}"] = state[f"head.{kind}"]
    return renamed


def saved(path, state):
    save_file({name: value.clone() for name, value in state.items()}, path)
    return str(path)


def assert_same(net, other):
    assert net.state_dict().keys() == other.state_dict().keys()
    for name, value in net.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


@pytest.mark.parametrize(
    "names",
    [
        dict,
        torchvision_names,
        lambda state: torchvision_names(state, "0", "3"),
        hugging_face_names,
        lambda state: hugging_face_names(state, new=True),
        lambda state: hugging_face_names(state, prefix=""),
    ],
)
def test_every_librarys_names(names, tmp_path):
    """All weights arrive, and no warning is given."""
    source = pretrained()
    path = saved(tmp_path / "weights.safetensors", names(source.state_dict()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = build_backbone("vit", {**SMALL, "weights": path}, 5, seed=3)
    assert_same(net, source)


@pytest.mark.parametrize("wrapped", [lambda state: state, lambda state: {"model": state, "epoch": 3}])
def test_torchs_own_archive(wrapped, tmp_path):
    source = pretrained()
    half = {name: value.half() for name, value in source.state_dict().items()}
    torch.save(wrapped(half), tmp_path / "weights.pth")
    net = VisionTransformer(5, **SMALL, weights=str(tmp_path / "weights.pth"))
    assert net.pos_embed.dtype == torch.float32
    assert_same(net, source.half().float())


def test_resnet_by_its_usual_names(tmp_path):
    torch.manual_seed(11)
    source = ResNet18(5, width=4)
    for buffer in source.buffers():
        buffer.add_(3)
    renamed = {}
    for name, value in source.state_dict().items():
        if name.startswith("blocks."):
            _, block, rest = name.split(".", 2)
            name = f"layer{int(block) // 2 + 1}.{int(block) % 2}.{rest.replace('shortcut', 'downsample')}"
        renamed[name.replace("head.", "fc.")] = value
    net = ResNet18(5, width=4, weights=saved(tmp_path / "resnet.safetensors", renamed))
    assert_same(net, source)
    with pytest.raises(InputError, match=r"'conv1.weight' has shape \(4, 3, 3, 3\), but the net's is \(8, 3, 3, 3\)"):
        ResNet18(5, width=8, weights=str(tmp_path / "resnet.safetensors"))


@pytest.mark.parametrize("pooled", [False, True])
def test_a_head_of_another_size_stays_freshly_drawn(pooled, tmp_path):
    """The same fresh head as without a file; the body is the file's."""
    source = pretrained()
    renamed = hugging_face_names(source.state_dict(), prefix="" if pooled else "vit.")
    words = "holds a head of 5 outputs, the net has 7: the net's head keeps its initial weights"
    if pooled:  # a body alone, as it is published for transfer
        renamed = {name: value for name, value in renamed.items() if not name.startswith("classifier.")}
        renamed |= {"pooler.dense.weight": torch.zeros(12, 12), "pooler.dense.bias": torch.zeros(12)}
        words = "holds no head, the net has 7 outputs"
    path = saved(tmp_path / "weights.safetensors", renamed)
    with pytest.warns(UserWarning, match=words):
        net = build_backbone("vit", {**SMALL, "weights": path}, 7, seed=3)
    fresh = build_backbone("vit", SMALL, 7, seed=3)
    assert torch.equal(net.head.weight, fresh.head.weight)
    assert torch.equal(net.head.bias, fresh.head.bias)
    assert not torch.equal(net.pos_embed, fresh.pos_embed)
    assert torch.equal(net.pos_embed, source.pos_embed)
    assert torch.equal(net.blocks[1].attn.qkv.weight, source.blocks[1].attn.qkv.weight)


def without(name):
    return lambda state: {key: value for key, value in state.items() if key != name}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("blocks.1.mlp.fc2.bias"), "the weight 'blocks.1.mlp.fc2.bias' of the net is missing"),
        (lambda s: {**s, "dist_token": torch.zeros(1, 1, 12)}, "the net has no weight 'dist_token'"),
        (lambda s: {**s, "norm.bias": torch.zeros(13)}, r"'norm.bias' has shape \(13,\), but the net's is \(12,\)"),
        (lambda s: {**s, "pos_embed": torch.zeros(1, 65, 12)}, "are for 64 patches, but the net has 16"),
        (lambda s: without("vit.layers.0.attention.k_proj.weight")(hugging_face_names(s, new=True)), "attn.qkv.weight"),
        (
            lambda s: {**s, "head.weight": torch.zeros(5, 9)},
            r"'head.weight' has shape \(5, 9\), but the net's is \(5, 12\)",
        ),
        (without("head.bias"), "the weight 'head.bias' of the net is missing"),
        (lambda s: {"encoder.weight": torch.zeros(1)}, r"'cls_token' of the net is missing \(and 29 more\)"),
    ],
)
def test_what_does_not_fit_is_named(change, words, tmp_path):
    path = saved(tmp_path / "weights.safetensors", change(pretrained().state_dict()))
    with pytest.raises(InputError, match=words):
        VisionTransformer(5, **SMALL, weights=path)


class Runs:
    """A file that would run a command when it is unpickled carelessly."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_files_that_are_no_weights(tmp_path):
    state = pretrained().state_dict()
    torch.save(state, tmp_path / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save({**state, "extra": Runs(tmp_path / "ran")}, tmp_path / "runs.pth")
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps(Runs(tmp_path / "ran")))
    torch.save(state, tmp_path / "whole.pth")
    (tmp_path / "cut.pth").write_bytes((tmp_path / "whole.pth").read_bytes()[:-500])
    (tmp_path / "empty.safetensors").write_bytes(b"")
    for name in ("legacy.pth", "runs.pth", "plain.pkl", "cut.pth", "empty.safetensors"):
        with pytest.raises(InputError, match=f"{name} cannot be read as weights") as raised:
            VisionTransformer(5, **SMALL, weights=str(tmp_path / name))
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "ran").exists()
    torch.save([1, 2], tmp_path / "list.pth")
    torch.save({1: torch.zeros(1)}, tmp_path / "numbered.pth")
    for name in ("list.pth", "numbered.pth"):
        with pytest.raises(InputError, match="is not a state_dict"):
            read_weights(str(tmp_path / name))
    for path in (tmp_path / "nowhere.pth", tmp_path):
        for read in (read_weights, weights_digest):
            with pytest.raises(InputError, match="is not a file"):
                read(str(path))


def test_the_digest_follows_the_content(tmp_path):
    state = pretrained().state_dict()
    one, same = (weights_digest(saved(tmp_path / name, state)) for name in ("one.safetensors", "same.safetensors"))
    assert one == same
    state["norm.bias"] = state["norm.bias"] + 1
    assert weights_digest(saved(tmp_path / "one.safetensors", state)) != one


def test_vit_base_has_the_published_size():
    """86,567,656 parameters with 1,000 outputs (as published with its weights)."""
    with torch.device("meta"):
        net = ViTBase16(1000)
    assert sum(parameter.numel() for parameter in net.parameters()) == 86_567_656
    assert net.pos_embed.shape == (1, 197, 768)
    assert len(net.blocks) == net.blocks[0].attn.heads == 12
