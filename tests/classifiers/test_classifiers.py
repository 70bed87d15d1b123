"""Classifiers by name, a user's own net, features before the last layer."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from einstellung.classifiers import classifier, extractor
from einstellung.classifiers.preprocessing import Preprocessing, preprocessing_from
from einstellung.errors import InputError

from .tiny import write_net


def test_a_users_net_gives_its_logits(tmp_path):
    mine = classifier(f"{write_net(tmp_path)}:net")
    assert (mine.size, mine.classes) == (32, 5)
    images = torch.stack([torch.full((3, 32, 32), round(255 * k / 4), dtype=torch.uint8) for k in range(5)])
    assert mine.logits(images).argmax(1).tolist() == [0, 1, 2, 3, 4]


def test_stored_weights_fill_the_net_and_make_it_another_one(tmp_path):
    file = write_net(tmp_path)
    turned = {"head.weight": torch.zeros(5, 2), "head.bias": torch.tensor([0.0, 0, 0, 9, 0])}
    save_file(turned, tmp_path / "stored.safetensors")
    stored = classifier(f"{file}:stored")
    assert stored.logits(torch.zeros(2, 3, 32, 32, dtype=torch.uint8)).argmax(1).tolist() == [3, 3]
    assert stored.digest != classifier(f"{file}:net").digest
    assert stored.digest == classifier(f"{file}:stored").digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"head.weight": torch.zeros(5, 2)}, "lacks 'head.bias'"),
        ({"head.weight": torch.zeros(5, 3), "head.bias": torch.zeros(5)}, r"'head.weight' is \(5, 3\).*\(5, 2\)"),
        (
            {"head.weight": torch.zeros(5, 2), "head.bias": torch.zeros(5), "z": torch.zeros(1)},
            "has, and the net has not, 'z'",
        ),
        (None, "cannot be read as weights"),
    ],
)
def test_wrong_weights_are_refused(tmp_path, content, message):
    file, weights = write_net(tmp_path), tmp_path / "stored.safetensors"
    weights.write_bytes(b"nothing") if content is None else save_file(content, weights)
    with pytest.raises(InputError, match=message):
        classifier(f"{file}:stored")


def test_a_pickle_that_would_run_code_is_not_run(tmp_path):
    class Runs:
        def __reduce__(self):
            return (open, (str(tmp_path / "was run"), "w"))

    file = write_net(tmp_path)
    file.write_text(file.read_text().replace("stored.safetensors", "stored.pt"))
    torch.save({"head.weight": Runs()}, tmp_path / "stored.pt")
    with pytest.raises(InputError, match="cannot be read as weights"):
        classifier(f"{file}:stored")
    assert not (tmp_path / "was run").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet", "no classifier 'resnet': take efficientnet-lite0"),
        ("{file}:nothing", "has no function 'nothing'"),
        ("{file}:wrong", "must return a torch.nn.Module and a dictionary"),
        ("{file}:unknown_key", "preprocessing has no 'crop'; it has size, resize"),
        ("{file}:headless", r"gives \(1, 3, 32, 32\) for one image: a row of logits"),
        ("{file}:fails", "fails on an image of 3 x 32 x 32 .*mend it, or 'size'"),
        ("{file}x.py:net", "is no file"),
    ],
)
def test_wrong_names_are_said(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        classifier(name.format(file=write_net(tmp_path)))


def test_a_net_without_a_linear_layer_classifies_and_has_no_last_layer_to_replace(tmp_path):
    name = f"{write_net(tmp_path)}:pooled"
    pooled = classifier(name)
    images = torch.stack([torch.full((3, 32, 32), round(255 * k / 4), dtype=torch.uint8) for k in range(5)])
    assert pooled.classes == 5
    assert pooled.logits(images).argmax(1).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="no linear layer"):
        extractor(name)


def test_a_last_layer_whose_output_is_changed_afterwards_is_not_the_last(tmp_path):
    with pytest.raises(InputError, match="its logits are not what its last linear layer"):
        extractor(f"{write_net(tmp_path)}:doubled")


def test_another_file_is_another_classifier_though_the_weights_are_the_same(tmp_path):
    """What forward does stands in the file: doubled has net's weights and other logits."""
    file = write_net(tmp_path)
    before = classifier(f"{file}:net")
    file.write_text(file.read_text().replace("x.mean((1, 2, 3))", "1 - x.mean((1, 2, 3))"))
    after = classifier(f"{file}:net")
    assert torch.equal(before.net.head.weight, after.net.head.weight)
    assert before.digest != after.digest
    assert after.digest == classifier(f"{file}:net").digest


def test_timm_is_used_with_its_own_configuration_and_missed_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match=r"timm:resnet50 needs timm.*pip install timm"):
        classifier("timm:resnet50")
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16, 7))
    net.num_classes = 7
    config = {
        "input_size": (3, 4, 4),
        "crop_pct": 0.5,
        "mean": (0.5,) * 3,
        "std": (0.25,) * 3,
        "interpolation": "bilinear",
    }
    timm = types.ModuleType("timm")
    timm.__version__ = "1.0"
    timm.data = types.ModuleType("timm.data")
    timm.create_model = lambda name, pretrained: net
    timm.data.resolve_model_data_config = lambda net: config
    monkeypatch.setitem(sys.modules, "timm", timm)
    monkeypatch.setitem(sys.modules, "timm.data", timm.data)
    found = classifier("timm:small")
    assert found.preprocessing == Preprocessing(4, 8, (0.5,) * 3, (0.25,) * 3, "bilinear")
    images = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
    torch.testing.assert_close(found.logits(images), net((images / 255 - 0.5) / 0.25))
    timm.__version__ = "1.1"
    assert classifier("timm:small").digest != found.digest  # the net's code is timm's
    config["crop_mode"] = "squash"
    assert classifier("timm:small").preprocessing == Preprocessing(4, 8, (0.5,) * 3, (0.25,) * 3, "bilinear", True)
    config["crop_mode"] = "border"
    with pytest.raises(InputError, match="timm:small crops pictures by 'border': only center and squash"):
        classifier("timm:small")


def test_features_are_what_the_last_layer_sees(tmp_path):
    eyes = extractor(f"{write_net(tmp_path)}:net")
    images = torch.randint(0, 256, (70, 3, 32, 32), dtype=torch.uint8)
    found = eyes.features(images)
    assert found.shape == (70, eyes.width) == (70, 2)
    torch.testing.assert_close(found[:, 0], images.float().mean((1, 2, 3)) / 255)
    torch.testing.assert_close(eyes.last_layer(found), eyes.classifier.logits(images))
    larger = images.repeat_interleave(2, 2).repeat_interleave(2, 3)
    assert (eyes.features(larger)[:, 0] - found[:, 0]).abs().max() < 0.02


def test_preparing_resizes_the_shorter_side_and_takes_the_middle():
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8))
    got = Preprocessing(20, 30, (0, 0, 0), (1, 1, 1), "bicubic").prepare(picture)
    whole = np.asarray(picture.resize((50, 30), Image.Resampling.BICUBIC))
    assert got.dtype == torch.uint8
    assert np.array_equal(got.numpy().transpose(1, 2, 0), whole[5:25, 15:35])


def test_squashing_resizes_both_sides_and_takes_the_middle():
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8))
    squashing = Preprocessing(20, 30, (0, 0, 0), (1, 1, 1), squash=True)
    whole = np.asarray(picture.resize((30, 30), Image.Resampling.BICUBIC))
    assert np.array_equal(squashing.prepare(picture).numpy().transpose(1, 2, 0), whole[5:25, 5:25])
    assert squashing.facts() != Preprocessing(20, 30, (0, 0, 0), (1, 1, 1)).facts()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 8, "mean": [0] * 3, "std": [1] * 3, "squash": "yes"}, "squash is 'yes', it can be True or False"),
        ({"size": 8, "mean": [0] * 3}, "lacks 'std'"),
        ({"size": 8, "mean": [0] * 2, "std": [1] * 3}, "three numbers"),
        ({"size": 8, "mean": [0] * 3, "std": [1, 1, 0]}, "std above 0"),
        ({"size": 8, "resize": 4, "mean": [0] * 3, "std": [1] * 3}, "size <= resize"),
        ({"size": 8, "mean": [0] * 3, "std": [1] * 3, "interpolation": "magic"}, "it can be nearest, bilinear"),
    ],
)
def test_wrong_preprocessing_is_said(settings, message):
    with pytest.raises(InputError, match=message):
        preprocessing_from(settings, "mine")
