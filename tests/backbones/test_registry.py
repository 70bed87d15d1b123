"""Weights depend only on the seed, and wrong options are named."""

from __future__ import annotations

import pytest
import torch

from einstellung.backbones import build_backbone
from einstellung.errors import InputError


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
