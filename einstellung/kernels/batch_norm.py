"""Batch norm, an addition and ReLU as one step: y = max(0, gamma (x - mean) / sqrt(var + eps) + beta [+ other]).

Rounding apart, what comes out is what torch computes in three steps, running statistics included. Where several batches go
through a net at once (:mod:`.lots`), each of them has statistics of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from einstellung.kernels.convolution import computes_here
from einstellung.kernels.derivatives import first_derivative_only
from einstellung.kernels.lots import sizes_now

_WIDTH = 64  # numbers in a row of memory, at least
Own = tuple[Tensor, Tensor, Tensor, Tensor]  # gamma, beta, running mean, running variance
Found = npt.NDArray[np.float64]
_MOST_THREADS = 2  # our loops use one; with more than two, torch's own are as fast


class FusedBatchNorm2d(nn.BatchNorm2d):
    """A batch norm that a net has already; :func:`norm_relu` knows that it may be fused, and lots are batches by themselves."""

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        sizes = lots_for(self)
        if not sizes:
            return super().forward(input)
        return torch.cat([super(FusedBatchNorm2d, self).forward(part) for part in input.split(sizes)])


def lots_for(norm: nn.Module) -> tuple[int, ...]:
    """The sizes of lots that have statistics of their own; empty where all images share theirs."""
    return sizes_now() if norm.training else ()


def suits_fusion(layer: nn.Module) -> bool:
    return type(layer) is nn.BatchNorm2d and layer.affine and layer.track_running_stats and layer.momentum is not None


def norm_relu(norm: nn.Module, x: Tensor, other: Tensor | None = None) -> Tensor:
    """``relu(norm(x) + other)``; in one step where ``norm`` is fused and nobody listens to what it gives.

    >>> norm_relu(nn.BatchNorm2d(1), torch.tensor([-1.0, 1.0]).view(2, 1, 1, 1)).flatten().round().tolist()
    [0.0, 1.0]
    """
    if type(norm) is FusedBatchNorm2d:
        own = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        sizes = lots_for(norm) or x.shape[:1]
        if may_fuse(norm, own, x, other, sizes):
            count_batches(norm, sizes)
            settings = norm.training, norm.momentum, norm.eps
            if torch.is_grad_enabled():
                fused: Tensor = _NormReLU.apply(x, other, *own, *settings, sizes)  # type: ignore[no-untyped-call]
                return fused
            return norm_forward(x, other, own, settings, sizes)[1]  # type: ignore[arg-type]
    out = norm(x)
    return F.relu(out if other is None else out + other, inplace=True)


def is_watched(layer: nn.Module) -> bool:
    """Whether somebody listens to a layer, or has put something in place of what it computes."""
    hooks = layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks or layer._backward_pre_hooks
    return bool(hooks) or "forward" in vars(layer)


def may_fuse(
    norm: FusedBatchNorm2d, own: tuple[Tensor | None, ...], x: Tensor, other: Tensor | None, sizes: Sequence[int]
) -> bool:
    """Whether one step computes what the layer would now: its settings may have changed since it was chosen."""
    if is_watched(norm) or _has_any_global_hook():
        return False
    if not (computes_here(x, *own) if other is None else computes_here(x, other, *own)):
        return False
    if norm.momentum is None or not norm.track_running_stats or torch.get_num_threads() > _MOST_THREADS:
        return False
    if x.dim() != 4 or not x.is_contiguous(memory_format=torch.channels_last):  # and so is what comes out
        return False
    if not x.numel() or (norm.training and min(sizes) * x.shape[2] * x.shape[3] <= 1):
        return False  # torch says what is wrong with a single value per channel
    if (other is not None and other.shape != x.shape) or sum(sizes) != x.shape[0]:
        return False
    channels = x.shape[1:2]
    return all(one.shape == channels and one.is_contiguous() for one in own)  # type: ignore[union-attr]


def count_batches(norm: FusedBatchNorm2d, sizes: Sequence[int]) -> None:
    """What torch's layer counts before it computes."""
    if norm.training and norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(len(sizes))


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
        sizes: Sequence[int],
    ) -> Tensor:
        settings = training, momentum, eps
        x, y, found = norm_forward(x, other, (weight, bias, running_mean, running_var), settings, sizes)
        ctx.training, ctx.found, ctx.sizes = training, found, sizes
        ctx.save_for_backward(x, y, weight)
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        wants = ctx.needs_input_grad[:4]
        found = norm_backward(*ctx.saved_tensors, gradient, ctx.found, ctx.training, ctx.sizes, wants)
        return *found, *(None,) * 6


def norm_forward(
    x: Tensor, other: Tensor | None, own: Own, settings: tuple[bool, float, float], sizes: Sequence[int]
) -> tuple[Tensor, Tensor, Found]:
    """x as it lies in memory, the result, mean and 1 / sqrt(var + eps) of every lot; ``settings``: training, momentum, eps."""
    from einstellung.kernels import norm_loops

    x = x.contiguous(memory_format=torch.channels_last)
    if other is not None:
        other = other.contiguous(memory_format=torch.channels_last)
    y = torch.empty_like(x)
    found = np.empty((len(sizes), 2, x.shape[1]))
    images, others, results, *values = _addresses(x, other, y, *own)
    for number, (offset, shape) in enumerate(_lots(x, sizes)):
        addresses = images + offset, others and others + offset, results + offset, *values
        norm_loops.forward(addresses, *shape, *settings, found[number])
    return x, y, found


def norm_backward(
    x: Tensor,
    y: Tensor,
    weight: Tensor,
    gradient: Tensor,
    found: Found,
    training: bool,
    sizes: Sequence[int],
    wants: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of x, of what was added, of gamma and beta, as far as they are wanted."""
    from einstellung.kernels import norm_loops

    wants_x, wants_other, wants_weight, wants_bias = wants
    x, y = (
        one.contiguous(memory_format=torch.channels_last) for one in (x, y)
    )  # whoever kept them may have moved them
    gradient = gradient.contiguous(memory_format=torch.channels_last)
    down = torch.empty_like(x) if wants_x or wants_other else None
    side = torch.empty_like(x) if wants_other else None
    channels = weight.shape[0]
    shape = (channels,) if len(sizes) == 1 else (len(sizes), channels)
    by_weight = weight.new_empty(shape) if wants_weight else None
    by_bias = weight.new_empty(shape) if wants_bias else None
    given, images, results, gamma, downs, sides, weights, biases = _addresses(
        gradient, x, y, weight, down, side, by_weight, by_bias
    )
    for number, (offset, rows) in enumerate(_lots(x, sizes)):
        row = 4 * number * channels
        whole = given + offset, images + offset, results + offset, gamma
        wanted = downs and downs + offset, sides and sides + offset, weights and weights + row, biases and biases + row
        norm_loops.backward((*whole, *wanted), *rows, training, found[number])
    return (down if wants_x else None), side, _summed(by_weight), _summed(by_bias)


def _lots(x: Tensor, sizes: Sequence[int]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Where each lot of images begins in memory, in bytes, and its rows."""
    _, channels, height, width = x.shape
    offset = 0
    for size in sizes:
        pixels = size * height * width
        yield offset, _rows(pixels, channels)
        offset += 4 * pixels * channels


def _rows(pixels: int, channels: int) -> tuple[int, int, int]:
    """Memory in channels-last order as rows of one or several pixels, long enough for vectors: rows, width, channels.

    >>> _rows(2 * 4 * 4, 16), _rows(3 * 3, 16)
    ((8, 64, 16), (9, 16, 16))
    """
    together = max(1, _WIDTH // channels)
    if pixels % together:
        together = 1
    return pixels // together, channels * together, channels


def _summed(by_lot: Tensor | None) -> Tensor | None:
    """Over lots, where there are several."""
    return by_lot if by_lot is None or by_lot.dim() == 1 else by_lot.sum(dim=0)


def _addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
