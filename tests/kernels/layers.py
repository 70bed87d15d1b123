"""Layers of ours and values to try them with."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from einstellung.kernels import accelerate
from einstellung.kernels.convolution import WinogradConv2d
from einstellung.kernels.direct import DirectConv2d


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return values.contiguous(memory_format=torch.channels_last)


def winograd(inputs: int, outputs: int, bias: bool = False) -> WinogradConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias))
    assert isinstance(layer, WinogradConv2d)
    return layer


def direct(inputs: int, outputs: int, stride: int = 1, bias: bool = False) -> DirectConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=bias))
    assert isinstance(layer, DirectConv2d)
    return layer


def is_direct(out: Tensor) -> bool:
    """Whether our direct kernels computed it."""
    names = [type(out.grad_fn).__name__]
    names += [type(node).__name__ for node, _ in out.grad_fn.next_functions]  # type: ignore[union-attr]
    return "_DirectBackward" in names


def distance(one: Tensor, other: Tensor) -> float:
    """Largest difference as a share of the largest value."""
    one, other = one.detach().double(), other.detach().double()
    return float((one - other).abs().max() / other.abs().max())
