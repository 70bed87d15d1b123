"""The one-dimensional ResNet against the same net written with two-dimensional convolutions."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones import build_backbone
from einstellung.errors import InputError


def made(seed: int = 3, **options):
    net = build_backbone("resnet1d", {"width": 4, "channels": 2} | options, 5, seed).double()
    net.train()(torch.randn(6, options.get("channels", 2), 23, dtype=torch.float64))  # running statistics of their own
    return net.eval()


def as_images(net, x):
    """By functions of images with one row."""

    def conv(layer, x):
        padding = (0, layer.padding[0])
        return F.conv2d(x, layer.weight.unsqueeze(2), stride=(1, layer.stride[0]), padding=padding)

    def norm(layer, x):
        return F.batch_norm(x, layer.running_mean, layer.running_var, layer.weight, layer.bias, eps=layer.eps)

    x = F.relu(norm(net.bn1, conv(net.conv1, x.unsqueeze(2))))
    for block in net.blocks:
        own = F.relu(norm(block.bn1, conv(block.conv1, x)))
        own = norm(block.bn2, conv(block.conv2, own))
        same = isinstance(block.shortcut, torch.nn.Identity)
        x = F.relu(own + (x if same else norm(block.shortcut[1], conv(block.shortcut[0], x))))
    return net.head(x.mean(dim=(2, 3)))


@pytest.mark.parametrize("length", [7, 46, 96])
def test_it_is_the_net_of_images_with_one_row(length):
    net, series = made(), torch.randn(3, 2, length, dtype=torch.float64)
    assert torch.allclose(net(series), as_images(net, series), rtol=1e-10, atol=1e-12)


def test_parts_shapes_and_gradients():
    net, series = made().train(), torch.randn(4, 2, 20, dtype=torch.float64)
    shapes = {}
    for name, stage in net.stages().items():
        stage.register_forward_hook(lambda _, __, out, name=name: shapes.update({name: tuple(out.shape)}))
    net(series).square().sum().backward()
    assert shapes == {"stage 1": (4, 4, 20), "stage 2": (4, 8, 10), "stage 3": (4, 16, 5)}
    assert all(parameter.grad.abs().sum() > 0 for parameter in net.parameters())
    assert net.features(series).shape == (4, 16)


def test_the_seed_decides():
    one, same, other = (made(seed).state_dict()["conv1.weight"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("shape", [(2, 3, 20), (2, 20), (2, 2, 8, 8)])
def test_inputs_that_are_no_series_of_the_net(shape):
    with pytest.raises(InputError, match=r"takes series, \[N, 2, L\], not inputs of shape \[2, "):
        made()(torch.zeros(shape, dtype=torch.float64))
