"""Fully connected layers over features."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones import build_backbone
from einstellung.errors import InputError


def test_its_logits_by_hand():
    net = build_backbone("mlp", {"inputs": 6, "hidden": 5, "layers": 2}, 3, seed=1)
    weights = net.state_dict()
    first, second = (weights[f"body.{layer}.0.weight"] for layer in range(2))
    assert [tuple(one.shape) for one in (first, second, net.head.weight)] == [(5, 6), (5, 5), (3, 5)]
    images = torch.randn(4, 6, 1, 1)
    hidden = (images[:, :, 0, 0] @ first.T + weights["body.0.0.bias"]).clamp(min=0)
    hidden = (hidden @ second.T + weights["body.1.0.bias"]).clamp(min=0)
    torch.testing.assert_close(net.features(images), hidden)
    torch.testing.assert_close(net(images), hidden @ net.head.weight.T + net.head.bias)
    assert 0 < int((hidden == 0).sum()) < hidden.numel()  # the units rectify


@pytest.mark.parametrize("option", ["inputs", "hidden", "layers"])
def test_a_wrong_number_is_named(option):
    with pytest.raises(InputError, match=rf"^backbone\.{option} is 0: it must be at least 1"):
        build_backbone("mlp", {option: 0}, 3, seed=1)
