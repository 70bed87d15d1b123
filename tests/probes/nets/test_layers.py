"""What is read from a net: the stages of every backbone, pooled, without changing the net."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from einstellung.backbones.registry import build_backbone
from einstellung.errors import InputError
from einstellung.probes.nets.layers import observe

ALL = np.ones(6, dtype=bool)


def images(n=6, side=32):
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(0))


TEXTS = torch.randint(1, 30, (6, 9), generator=torch.Generator().manual_seed(0))
SERIES = torch.randn(6, 1, 24, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("name", "options", "inputs", "layers"),
    [
        (
            "resnet18",
            {"width": 4},
            images(),
            {"stage 1": 64, "stage 2": 128, "stage 3": 256, "stage 4": 512, "features": 32},
        ),
        ("vit", {"dim": 12, "depth": 2}, images(), {"block 1": 24, "block 2": 24, "features": 12}),
        ("mlp", {"inputs": 12, "hidden": 5, "layers": 2}, images(6, 2), {"layer 1": 5, "layer 2": 5, "features": 5}),
        ("linear", {"inputs": 12}, images(6, 2), {"features": 12}),
        (
            "set_transformer",
            {"dim": 8, "heads": 2},
            torch.ones(6, 1, 4, 16),
            {"block 1": 16, "block 2": 16, "features": 8},
        ),
        ("embedding_bag", {"vocabulary": 30, "hidden": 7}, TEXTS, {"layer 1": 7, "features": 7}),
        ("text_transformer", {"vocabulary": 30, "dim": 8, "depth": 1}, TEXTS, {"block 1": 16, "features": 8}),
        ("resnet1d", {"width": 4}, SERIES, {"stage 1": 16, "stage 2": 32, "stage 3": 64, "features": 16}),
    ],
)
def test_the_layers_of_every_backbone(name, options, inputs, layers):
    net = build_backbone(name, options, 5, seed=1)
    found = observe(net, inputs.split(4), ALL)
    assert {layer: values.shape for layer, values in found.layers.items()} == {
        k: (6, width) for k, width in layers.items()
    }
    with torch.no_grad():
        net.eval()
        np.testing.assert_allclose(found.logits, net(inputs).numpy(), atol=1e-5)
        np.testing.assert_allclose(found.layers["features"], net.features(inputs).numpy(), atol=1e-5)


def test_a_series_keeps_its_places_and_the_channels_are_the_units():
    net = build_backbone("resnet1d", {"width": 4}, 5, seed=1)
    found, seen = observe(net, [SERIES], ALL), []
    net.stages()["stage 2"].register_forward_hook(lambda _, __, out: seen.append(out.detach()))
    net.eval()(SERIES)
    (output,) = seen  # [6, 8, 12]: cells of three places
    cells = torch.stack([output[:, :, 3 * cell : 3 * cell + 3].mean(dim=2) for cell in range(4)], dim=2)
    np.testing.assert_allclose(found.layers["stage 2"], cells.flatten(1).numpy(), atol=1e-6)
    np.testing.assert_allclose(found.activity["stage 2"], output.abs().mean(dim=(0, 2)).numpy(), atol=1e-6)


def test_nothing_of_the_net_changes():
    net = build_backbone("resnet18", {"width": 4}, 5, seed=1).train()
    before, random = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    observe(net, [images()], ALL)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(module.training for module in net.modules())
    assert torch.equal(torch.get_rng_state(), random)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


def test_only_the_wanted_images_are_kept_and_all_count_for_activity():
    net = build_backbone("resnet18", {"width": 4}, 5, seed=1)
    some = np.array([True, False, False, True, False, True])
    every, few = observe(net, images().split(4), ALL), observe(net, images().split(4), some)
    np.testing.assert_array_equal(few.layers["stage 2"], every.layers["stage 2"][some])
    np.testing.assert_array_equal(few.activity["stage 2"], every.activity["stage 2"])
    assert len(few.logits) == 6


def test_activity_is_the_mean_magnitude_of_a_unit():
    """A unit of weight 0 is silent; another gives x, so its mean magnitude is that of x."""
    net = build_backbone("mlp", {"inputs": 1, "hidden": 3}, 2, seed=1)
    with torch.no_grad():
        net.body[0][0].weight.copy_(torch.tensor([[0.0], [1.0], [-1.0]]))
        net.body[0][0].bias.zero_()
    inputs = torch.tensor([1.0, 2.0, -3.0, -6.0]).view(4, 1, 1, 1)
    np.testing.assert_allclose(observe(net, [inputs], ALL[:4]).activity["layer 1"], [0, 3 / 4, 9 / 4])


def test_a_net_without_a_linear_layer_is_refused():
    with pytest.raises(InputError, match="has no linear layer"):
        observe(nn.Sequential(nn.Flatten()), [images()], ALL)
