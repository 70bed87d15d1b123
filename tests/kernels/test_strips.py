"""Convolutions in strips against torch's in double precision, for every way in which tiles and images fit into strips."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.kernels import accelerate
from einstellung.kernels.strips import strip_backward, strip_forward, strips_support
from tests.kernels.layers import distance, draw

pytest.importorskip("numba")

CHANNELS = [(8, 8), (16, 16), (32, 32), (64, 64), (8, 16), (16, 8), (24, 40), (128, 128)]
# a strip of many rows, of one, of a part of one; of several images, the last strip not full
SIZES = [(3, 32, 32), (2, 64, 64), (5, 16, 16), (7, 8, 8), (9, 4, 4), (3, 4, 16), (2, 12, 20), (1, 16, 256)]


def exact(x: Tensor, weight: Tensor, upstream: Tensor) -> list[Tensor]:
    """Outputs, gradients of images and gradients of weights."""
    wide = [value.double().requires_grad_() for value in (x, weight)]
    out = F.conv2d(*wide, padding=1)
    return [out, *torch.autograd.grad(out, wide, upstream.double())]


@pytest.mark.parametrize(("images", "height", "width"), SIZES)
@pytest.mark.parametrize(("inputs", "outputs"), CHANNELS)
def test_outputs_and_gradients_are_those_in_double_precision(
    images: int, height: int, width: int, inputs: int, outputs: int
) -> None:
    x, weight = draw(images, inputs, height, width), draw(outputs, inputs, 3, 3, seed=2) / 10
    upstream = draw(images, outputs, height, width, seed=1)
    found = [strip_forward(x, weight), *strip_backward(x, weight, upstream, True, True)]
    for one, other in zip(found, exact(x, weight, upstream), strict=True):
        assert one.shape == other.shape
        assert one.is_contiguous(memory_format=torch.channels_last)
        assert distance(one, other) < 3e-5


def test_gradients_are_added_to_what_is_there_and_only_what_is_asked_for_is_computed() -> None:
    x, weight, upstream = draw(3, 16, 12, 8), draw(8, 16, 3, 3, seed=2), draw(3, 8, 12, 8, seed=1)
    there = draw(3, 16, 12, 8, seed=3)
    before = there.clone()
    down, none = strip_backward(None, weight, upstream, True, False, into=there)
    assert none is None
    assert down is not None
    assert down.data_ptr() == there.data_ptr()
    assert distance(down, exact(x, weight, upstream)[1] + before) < 2e-5
    none, by_weight = strip_backward(x, weight, upstream, False, True)
    assert none is None
    assert by_weight is not None
    assert distance(by_weight, exact(x, weight, upstream)[2]) < 2e-5


def test_the_gradients_of_many_tiles_are_summed_in_turns() -> None:
    x, weight, upstream = draw(5, 8, 64, 64), draw(8, 8, 3, 3, seed=2), draw(5, 8, 64, 64, seed=1)  # 1280 tiles
    _, found = strip_backward(x, weight, upstream, False, True)
    assert found is not None
    assert distance(found, exact(x, weight, upstream)[2]) < 3e-5


def test_weights_and_gradients_in_any_order_of_memory() -> None:
    x, weight, upstream = draw(2, 8, 8, 8), draw(16, 8, 3, 3, seed=2), draw(2, 16, 8, 8, seed=1)
    expected = [strip_forward(x, weight), *strip_backward(x, weight, upstream, True, True)]
    assert weight.contiguous().stride() != weight.stride()
    orders = (weight.contiguous(), upstream), (weight, upstream.contiguous()), (weight, upstream.flip(3).flip(3))
    for other, same in orders:
        found = [strip_forward(x, other), *strip_backward(x, other, same, True, True)]
        assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


@pytest.mark.parametrize("inputs", [8, 32])
def test_nothing_outside_an_image_is_read_or_written(inputs: int) -> None:
    """Neighbours in memory, of other images and of none, are no numbers: whatever touched them would show it."""
    around, weight = draw(5, inputs, 8, 12), draw(16, inputs, 3, 3, seed=2)
    around[[0, 2, 4]] = torch.nan
    out = strip_forward(around[1:4], weight)
    assert [bool(one.isfinite().all()) for one in out] == [True, False, True]
    grad_output = draw(5, 16, 8, 12, seed=1)
    grad_output[[0, 2, 4]] = torch.nan
    there = torch.zeros(5, inputs, 8, 12).contiguous(memory_format=torch.channels_last)
    strip_backward(None, weight, grad_output[1:4], True, False, into=there[1:4])
    assert [bool((one == 0).all()) for one in there] == [True, False, False, False, True]
    assert [bool(one.isfinite().all()) for one in there] == [True, True, False, True, True]
    _, by_weight = strip_backward(around[1:2], weight, grad_output[1:2], False, True)
    assert by_weight is not None
    assert by_weight.isfinite().all()


def test_the_same_bytes_every_time_and_nearly_so_with_two_threads() -> None:
    x, weight, upstream = draw(5, 16, 8, 8), draw(16, 16, 3, 3, seed=2), draw(5, 16, 8, 8, seed=1)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 1, 2, 2):
            torch.set_num_threads(threads)
            results.append([strip_forward(x, weight), *strip_backward(x, weight, upstream, True, True)])
    finally:
        torch.set_num_threads(before)
    for one, other in ((0, 1), (2, 3)):
        assert all(torch.equal(*pair) for pair in zip(results[one], results[other], strict=True))
    assert all(torch.equal(*pair) for pair in zip(results[0][:2], results[2][:2], strict=True))  # images are apart
    assert distance(results[2][2], results[0][2]) < 1e-5


@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 64), (24, 40), (64, 64), (128, 128), (144, 144)])
@pytest.mark.parametrize("side", [4, 8, 16, 18])
def test_layers_go_in_strips_where_they_can(
    monkeypatch: pytest.MonkeyPatch, inputs: int, outputs: int, side: int
) -> None:
    taken: list[Tensor] = []

    def recorded(x: Tensor, weight: Tensor) -> Tensor:
        taken.append(x)
        return strip_forward(x, weight)

    for module in ("narrow", "convolution"):
        monkeypatch.setattr(f"einstellung.kernels.{module}.strip_forward", recorded)
    layer, x = accelerate(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)), draw(2, inputs, side, side)
    out = layer(x)
    assert (
        len(taken) == strips_support(x.shape, outputs) == (side != 18 and (inputs < 128 or (inputs, side) == (128, 16)))
    )
    assert distance(out, F.conv2d(x.double(), layer.weight.double(), padding=1)) < 3e-5


def test_images_that_tiles_do_not_cover_are_refused() -> None:
    with pytest.raises(AssertionError, match="outside such images"):
        strip_forward(draw(1, 8, 8, 6), draw(8, 8, 3, 3))
    with pytest.raises(AssertionError, match="outside such images"):
        strip_backward(None, draw(8, 8, 3, 3), draw(1, 8, 6, 8), True, False)
