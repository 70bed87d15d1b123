"""Direct convolutions of few channels against torch's in double precision."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.kernels import accelerate
from einstellung.kernels.narrow import suits_narrow
from tests.kernels.layers import distance, draw, is_ours, narrow

pytest.importorskip("numba")


CHANNELS = [(3, 8), (3, 16), (8, 8), (8, 16), (16, 8), (16, 16), (8, 24), (16, 32)]
SIZES = [(1, 5, 9), (3, 30, 34), (2, 9, 8), (2, 18, 16), (1, 1, 13), (2, 3, 17)]  # no strips: not multiples of four
COLOURED = [(3, 32, 32), (2, 8, 8), (2, 16, 16)]
STRIDED = [(3, 32, 32), (1, 2, 16), (2, 16, 18), (1, 6, 26)]


@pytest.mark.parametrize(
    ("images", "height", "width", "stride", "channels"),
    [
        *((*size, 1, channels) for size in SIZES for channels in CHANNELS),
        *((*size, 2, channels) for size in STRIDED for channels in CHANNELS),
        *((*size, 1, channels) for size in COLOURED for channels in CHANNELS[:2]),
    ],
)
def test_outputs_and_gradients_are_those_in_double_precision(
    images: int, height: int, width: int, stride: int, channels: tuple[int, int]
) -> None:
    layer = narrow(*channels, stride=stride, bias=True)
    x = draw(images, channels[0], height, width).requires_grad_(channels[0] != 3)
    ours = layer(x)
    assert is_ours(ours)
    upstream = draw(*ours.shape, seed=1)
    own = [value for value in (x, layer.weight, layer.bias) if value.requires_grad]
    found = torch.autograd.grad(ours, own, upstream)

    exact = [value.detach().double().requires_grad_() for value in (x, layer.weight, layer.bias)]
    reference = F.conv2d(*exact, stride=stride, padding=1)
    expected = torch.autograd.grad(reference, exact[-len(own) :], upstream.double())
    assert ours.shape == reference.shape
    assert ours.is_contiguous(memory_format=torch.channels_last)
    assert distance(ours, reference) < 1e-6
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert distance(one, other) < 1e-5


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("inputs", [3, 8])
def test_nothing_outside_an_image_is_read_or_written(inputs: int, stride: int) -> None:
    """Neighbours in memory, of other images and of none, are no numbers: whatever touched them would show it."""
    around = draw(5, inputs, 6, 18)
    around[[0, 2, 4]] = torch.nan
    layer = narrow(inputs, 16, stride)
    x = around[1:4].requires_grad_(inputs != 3)
    out = layer(x)
    assert is_ours(out)
    assert [bool(one.isfinite().all()) for one in out] == [True, False, True]
    single = draw(3, *out.shape[1:], seed=1)
    single[[0, 2]] = torch.nan
    clean = around[1:2].detach().requires_grad_(inputs != 3)
    wanted = [value for value in (clean, layer.weight) if value.requires_grad]
    found = torch.autograd.grad(layer(clean), wanted, single[1:2])
    assert all(bool(one.isfinite().all()) for one in found)
    assert around[[0, 4]].isnan().all()


@pytest.mark.parametrize("stride", [1, 2])
def test_only_what_is_asked_for_gets_a_gradient(stride: int) -> None:
    layer, x = narrow(8, 16, stride), draw(2, 8, 18, 16).requires_grad_()
    expected = torch.autograd.grad(layer(x).sum(), (x, layer.weight))
    layer.weight.requires_grad_(False)
    assert torch.equal(torch.autograd.grad(layer(x).sum(), x)[0], expected[0])
    layer.weight.requires_grad_(True)
    assert torch.equal(torch.autograd.grad(layer(x.detach()).sum(), layer.weight)[0], expected[1])


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_in_any_order_of_memory(stride: int) -> None:
    layer, x = narrow(8, 16, stride), draw(2, 8, 18, 16).requires_grad_()
    out = layer(x)
    upstream = draw(*out.shape, seed=1)
    wide = torch.cat([upstream, upstream], dim=1)[:, :16]
    asked = (x, layer.weight)
    expected = torch.autograd.grad(out, asked, upstream, retain_graph=True)
    for same in (upstream.contiguous(), wide, upstream.flip(3).contiguous().flip(3)):
        found = torch.autograd.grad(out, asked, same, retain_graph=True)
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    everywhere = torch.autograd.grad(out.sum(), asked, retain_graph=True)  # one number, seen as many
    ones = torch.autograd.grad(out, asked, torch.ones_like(out))
    assert all(torch.equal(one, other) for one, other in zip(everywhere, ones, strict=True))


@pytest.mark.parametrize("stride", [1, 2])
def test_the_same_bytes_every_time_and_nearly_so_with_two_threads(stride: int) -> None:
    layer, x = narrow(16, 16, stride), draw(5, 16, 18, 16).requires_grad_()
    results = []
    for threads in (1, 1, 2, 2):
        torch.set_num_threads(threads)
        out = layer(x)
        results.append([out, *torch.autograd.grad(out, (x, layer.weight), draw(*out.shape, seed=1))])
    for one, other in ((0, 1), (2, 3)):
        assert all(torch.equal(*pair) for pair in zip(results[one], results[other], strict=True))
    assert all(torch.equal(*pair) for pair in zip(results[0][:2], results[2][:2], strict=True))  # images are apart
    assert distance(results[2][2], results[0][2]) < 1e-6


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(1, 8, 3, padding=1),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.Conv2d(8, 64, 3, stride=2, padding=1),
        nn.Conv2d(24, 8, 3, stride=2, padding=1),
        nn.Conv2d(8, 136, 3, padding=1),
        nn.Conv2d(8, 8, 3, stride=3, padding=1),
        nn.Conv2d(8, 8, 3, stride=(1, 2), padding=1),
        nn.Conv2d(8, 8, 3),
        nn.Conv2d(8, 8, 3, padding="same"),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2),
        nn.Conv2d(16, 16, 3, padding=1, groups=2),
        nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(8, 8, 1),
        nn.Conv2d(8, 8, 5, padding=1),
    ],
)
def test_other_layers_are_left_alone(layer: nn.Module) -> None:
    assert not suits_narrow(layer)
    assert type(accelerate(layer)) is nn.Conv2d


@pytest.mark.parametrize(
    ("size", "stride"), [((8, 7), 1), ((5, 4), 1), ((2, 2), 1), ((16, 14), 2), ((15, 16), 2), ((16, 17), 2)]
)
def test_small_and_odd_images_are_torchs(size: tuple[int, int], stride: int) -> None:
    layer, x = narrow(8, 8, stride), draw(2, 8, *size)
    out = layer(x)
    assert not is_ours(out)
    assert torch.equal(out, nn.Conv2d.forward(layer, x))
