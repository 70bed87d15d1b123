"""Layers of ours and values to try them with."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from einstellung.kernels import accelerate
from einstellung.kernels.convolution import WinogradConv2d
from einstellung.kernels.narrow import NarrowConv2d


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return values.contiguous(memory_format=torch.channels_last)


def winograd(inputs: int, outputs: int, bias: bool = False) -> WinogradConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias))
    assert isinstance(layer, WinogradConv2d)
    return layer


def narrow(inputs: int, outputs: int, stride: int = 1, bias: bool = False) -> NarrowConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=bias))
    assert isinstance(layer, NarrowConv2d)
    return layer


def is_ours(out: Tensor) -> bool:
    """Whether our kernels for few channels computed it."""
    names = [type(out.grad_fn).__name__]
    names += [type(node).__name__ for node, _ in out.grad_fn.next_functions]  # type: ignore[union-attr]
    return "_NarrowBackward" in names


def distance(one: Tensor, other: Tensor) -> float:
    """Largest difference as a share of the largest value."""
    one, other = one.detach().double(), other.detach().double()
    return float((one - other).abs().max() / other.abs().max())
