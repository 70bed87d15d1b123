"""Precision and device are resolved once, and a layout is used only where it is safe."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones import ResNet18, VisionTransformer
from einstellung.errors import InputError
from einstellung.training.precision import Precision, suits_channels_last


def test_auto_becomes_a_precision_of_this_machine():
    assert Precision.resolve("auto", "cpu").name in ("fp32", "bf16")


def test_bf16_computes_in_bf16_and_keeps_weights_in_fp32():
    net = torch.nn.Linear(4, 4)
    with Precision.resolve("bf16", "cpu").autocast():
        assert net(torch.zeros(1, 4)).dtype == torch.bfloat16
    with Precision.resolve("fp32", "cpu").autocast():
        assert net(torch.zeros(1, 4)).dtype == torch.float32
    assert net.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("precision", "device", "words"),
    [("fp16", "cpu", "training.precision"), ("fp32", "gpu", "training.device"), ("fp32", "cuda", "no CUDA device")],
)
def test_what_this_machine_lacks_is_named(precision, device, words):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(InputError, match=words):
        Precision.resolve(precision, device)


def test_channels_last_needs_groups_of_eight_channels():
    assert suits_channels_last(ResNet18(4, width=8))
    assert not suits_channels_last(ResNet18(4, width=12))
    assert not suits_channels_last(ResNet18(4, width=4))
    assert suits_channels_last(VisionTransformer(4))
    assert not suits_channels_last(torch.nn.Linear(2, 2))
