"""Squared weight gradients of single images against autograd, one image at a time."""

from __future__ import annotations

import pytest
import torch
from torch import nn

pytest.importorskip("numba")

from einstellung.kernels import weight_squares
from einstellung.kernels.convolution import WinogradConv2d
from einstellung.kernels.weight_squares import add_weight_squares


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outputs", "channels", "size"), [(32, 48, (16, 16)), (48, 32, (14, 18))])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_they_are_those_of_single_images(outputs, channels, size, layout, threads, monkeypatch):
    """In double precision by autograd; images in groups of four with one left over, outputs in blocks with a rest."""
    monkeypatch.setattr(weight_squares, "_PRODUCTS", 36 * channels * 20)
    torch.manual_seed(0)
    x = torch.randn(5, channels, *size).to(memory_format=layout)
    gradient = torch.randn(5, outputs, *size).to(memory_format=layout)
    expected = torch.zeros(outputs, channels, 3, 3, dtype=torch.float64)
    for image in range(5):
        weight = torch.zeros(outputs, channels, 3, 3, dtype=torch.float64, requires_grad=True)
        given = nn.functional.conv2d(x[image : image + 1].double(), weight, padding=1)
        (one,) = torch.autograd.grad(given, weight, gradient[image : image + 1].double())
        expected += one**2
    total = torch.ones(outputs, 3, 3, channels)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        add_weight_squares(total, x, gradient)
    finally:
        torch.set_num_threads(before)
    found = (total - 1).permute(0, 3, 1, 2)
    assert torch.allclose(found.double(), expected, rtol=1e-3, atol=1e-4 * float(expected.max()))


def test_where_they_are_used():
    x, small = torch.zeros(2, 32, 16, 16), torch.zeros(2, 32, 8, 8)
    plain = nn.Conv2d(32, 32, 3, padding=1)
    ours = nn.Conv2d(32, 32, 3, padding=1)
    ours.__class__ = WinogradConv2d
    total = torch.zeros(32, 3, 3, 32)
    assert ours.add_weight_squares(total, x, x)
    assert not hasattr(plain, "add_weight_squares")
    assert not ours.add_weight_squares(total, small, small)
    assert not ours.add_weight_squares(total, x, x.bfloat16())
    assert not ours.add_weight_squares(total, x.double(), x.double())
    assert not ours.add_weight_squares(total, x, small)
    ours.stride = (2, 2)
    assert not ours.add_weight_squares(total, x, x)


def test_defaults_of_torch_change_nothing():
    x, gradient = torch.randn(1, 32, 16, 16), torch.randn(1, 40, 16, 16)
    totals = []
    for kind in (torch.float32, torch.float64):
        torch.set_default_dtype(kind)
        try:
            totals.append(torch.zeros(40, 3, 3, 32, dtype=torch.float32))
            add_weight_squares(totals[-1], x, gradient)
        finally:
            torch.set_default_dtype(torch.float32)
    assert torch.equal(*totals)
