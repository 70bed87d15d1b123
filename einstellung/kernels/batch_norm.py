"""Batch norm, an addition and ReLU as one step: y = max(0, gamma (x - mean) / sqrt(var + eps) + beta [+ other]).

Rounding apart, what comes out is what torch computes in three steps, running statistics included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from einstellung.kernels.convolution import computes_here
from einstellung.kernels.derivatives import first_derivative_only

_WIDTH = 64  # numbers in a row of memory, at least
_MOST_THREADS = 2  # our loops use one; with more than two, torch's own are as fast


class FusedBatchNorm2d(nn.BatchNorm2d):
    """A batch norm that a net has already; :func:`norm_relu` knows that it may be fused."""


def suits_fusion(layer: nn.Module) -> bool:
    return type(layer) is nn.BatchNorm2d and layer.affine and layer.track_running_stats and layer.momentum is not None


def norm_relu(norm: nn.Module, x: Tensor, other: Tensor | None = None) -> Tensor:
    """``relu(norm(x) + other)``; in one step where ``norm`` is fused and nobody listens to what it gives.

    >>> norm_relu(nn.BatchNorm2d(1), torch.tensor([-1.0, 1.0]).view(2, 1, 1, 1)).flatten().round().tolist()
    [0.0, 1.0]
    """
    if type(norm) is FusedBatchNorm2d:
        own = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        if _may_fuse(norm, own, x, other):
            if norm.training and norm.num_batches_tracked is not None:
                norm.num_batches_tracked.add_(1)
            fused: Tensor = _NormReLU.apply(x, other, *own, norm.training, norm.momentum, norm.eps)  # type: ignore[no-untyped-call]
            return fused
    out = norm(x)
    return F.relu(out if other is None else out + other, inplace=True)


def _may_fuse(norm: FusedBatchNorm2d, own: tuple[Tensor | None, ...], x: Tensor, other: Tensor | None) -> bool:
    """Whether one step computes what the layer would now: its settings may have changed since it was chosen."""
    watched = norm._forward_hooks or norm._forward_pre_hooks or norm._backward_hooks or norm._backward_pre_hooks
    if watched or _has_any_global_hook() or "forward" in vars(norm):
        return False
    if not (computes_here(x, *own) if other is None else computes_here(x, other, *own)):
        return False
    if norm.momentum is None or not norm.track_running_stats or torch.get_num_threads() > _MOST_THREADS:
        return False
    if x.dim() != 4 or not x.is_contiguous(memory_format=torch.channels_last):  # and so is what comes out
        return False
    if x.numel() <= (x.shape[1] if norm.training else 0):
        return False  # torch says what is wrong with a single value per channel
    if other is not None and other.shape != x.shape:
        return False
    channels = x.shape[1:2]
    return all(one.shape == channels and one.is_contiguous() for one in own)  # type: ignore[union-attr]


class _NormReLU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        other: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
        training: bool,
        momentum: float,
        eps: float,
    ) -> Tensor:
        from einstellung.kernels import norm_loops

        x = x.contiguous(memory_format=torch.channels_last)
        if other is not None:
            other = other.contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x)
        shape = _rows(x)
        found = np.empty((2, x.shape[1]))
        addresses = _addresses(x, other, y, weight, bias, running_mean, running_var)
        norm_loops.forward(addresses, *shape, training, momentum, eps, found)
        ctx.training, ctx.found, ctx.rows = training, found, shape
        ctx.save_for_backward(x, y, weight)
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from einstellung.kernels import norm_loops

        x, y, weight = ctx.saved_tensors
        wants_x, wants_other, wants_weight, wants_bias = ctx.needs_input_grad[:4]
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        down = torch.empty_like(x) if wants_x or wants_other else None
        side = torch.empty_like(x) if wants_other else None
        by_weight = torch.empty_like(weight) if wants_weight else None
        by_bias = torch.empty_like(weight) if wants_bias else None
        addresses = _addresses(gradient, x, y, weight, down, side, by_weight, by_bias)
        norm_loops.backward(addresses, *ctx.rows, ctx.training, ctx.found)
        return (down if wants_x else None), side, by_weight, by_bias, *(None,) * 5


def _rows(x: Tensor) -> tuple[int, int, int]:
    """Memory in channels-last order as rows of one or several pixels, long enough for vectors: rows, width, channels.

    >>> _rows(torch.empty(2, 16, 4, 4)), _rows(torch.empty(1, 16, 3, 3))
    ((8, 64, 16), (9, 16, 16))
    """
    channels = x.shape[1]
    pixels = x.numel() // channels
    together = max(1, _WIDTH // channels)
    if pixels % together:
        together = 1
    return pixels // together, channels * together, channels


def _addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
