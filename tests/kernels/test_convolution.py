"""Winograd's convolutions against direct ones in double precision: in strips up to 128 channels, else by large products."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.kernels import accelerate
from einstellung.kernels.convolution import suits_winograd, tile_size
from tests.kernels.layers import distance, draw, winograd

pytest.importorskip("numba")


SIZES = [(32, 32), (16, 16), (8, 8), (4, 4), (5, 5), (7, 7), (10, 10), (6, 9), (3, 2), (1, 1)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [(32, 48), (64, 32), (144, 160)])
def test_outputs_and_gradients_are_those_of_a_direct_convolution(
    height: int, width: int, channels: tuple[int, int]
) -> None:
    layer = winograd(*channels, bias=True)
    x = draw(3, channels[0], height, width).requires_grad_()
    upstream = draw(3, channels[1], height, width, seed=1)
    ours = layer(x)
    found = torch.autograd.grad(ours, (x, layer.weight, layer.bias), upstream)

    exact = [value.detach().double().requires_grad_() for value in (x, layer.weight, layer.bias)]
    direct = F.conv2d(*exact, padding=1)
    expected = torch.autograd.grad(direct, exact, upstream.double())
    assert distance(ours, direct) < 2e-5
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert distance(one, other) < 2e-5


def test_many_images_go_through_in_groups() -> None:
    layer = winograd(144, 144)
    x = draw(37, 144, 16, 16).requires_grad_()  # the cache holds the tiles of fifteen such images
    upstream = draw(37, 144, 16, 16, seed=1)
    ours = layer(x)
    found = torch.autograd.grad(ours, (x, layer.weight), upstream)
    direct = F.conv2d(x, layer.weight, padding=1)
    expected = torch.autograd.grad(direct, (x, layer.weight), upstream)
    assert distance(ours, direct) < 2e-5
    assert all(distance(one, other) < 3e-5 for one, other in zip(found, expected, strict=True))
    with torch.no_grad():
        assert torch.equal(layer(x), ours)


@pytest.mark.parametrize("side", [4, 8])
def test_two_threads_share_the_images(side: int) -> None:
    layer = winograd(144, 144)
    x, upstream = draw(5, 144, side, side).requires_grad_(), draw(5, 144, side, side, seed=1)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            out = layer(x)
            results.append([out, *torch.autograd.grad(out, (x, layer.weight), upstream)])
    finally:
        torch.set_num_threads(before)
    assert all(distance(one, other) < 1e-6 for one, other in zip(*results, strict=True))


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(16, 144, 3, padding=1),
        nn.Conv2d(64, 140, 3, padding=1),
        nn.Conv2d(64, 64, 3, stride=2, padding=1),
        nn.Conv2d(64, 64, 3),
        nn.Conv2d(64, 64, 3, padding=2, dilation=2),
        nn.Conv2d(64, 64, 3, padding=1, groups=2),
        nn.Conv2d(64, 64, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(64, 64, 1),
        nn.Linear(64, 64),
    ],
)
def test_other_layers_are_left_alone(layer: nn.Module) -> None:
    assert not suits_winograd(layer)
    kind = type(layer)
    assert type(accelerate(layer)) is kind


def test_tiles_are_chosen_by_the_number_of_products() -> None:
    for side in range(5, 40):
        products = {m: (m + 2) ** 2 * (-(-side // m)) ** 2 for m in (2, 4)}
        assert products[tile_size(side, side)] == min(products.values())
