"""Batch norm, an addition and ReLU as one step: y = max(0, gamma (x - mean) / sqrt(var + eps) + beta [+ other]).

Apart from rounding, the result is what torch computes in three steps, running statistics included. Where several batches go
through a net at once (:mod:`.multi_batch`), each of them has statistics of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.layers import has_hooks
from einstellung.kernels.autograd import first_derivative_only, plain_tensors
from einstellung.kernels.multi_batch import batch_sizes
from einstellung.torch_compat import has_global_hooks

_WIDTH = 64  # numbers in a row of memory, at least
NormTensors = tuple[Tensor, Tensor, Tensor, Tensor]  # gamma, beta, running mean, running variance
Statistics = npt.NDArray[np.float64]  # [batch, 2, channel]: mean and 1 / sqrt(var + eps)
_MOST_THREADS = 2  # our loops use one; with more than two, torch's own are as fast


class FusedBatchNorm2d(nn.BatchNorm2d):
    """A batch norm that :func:`norm_relu` may fuse with what follows, and that keeps statistics of several batches apart."""

    accelerates: ClassVar[type[nn.Module]] = nn.BatchNorm2d

    def forward(self, input: Tensor) -> Tensor:  # torch's name: it may be called by keyword
        sizes = separate_sizes(self)
        if not sizes:
            return super().forward(input)
        return torch.cat([super(FusedBatchNorm2d, self).forward(part) for part in input.split(sizes)])


def separate_sizes(norm: nn.Module) -> tuple[int, ...]:
    """Sizes of the batches that have statistics of their own; empty where all images share theirs."""
    return batch_sizes() if norm.training else ()


def suits_fusion(layer: nn.Module) -> bool:
    """Whether a layer is a batch norm with weights and running averages."""
    return type(layer) is nn.BatchNorm2d and layer.affine and layer.track_running_stats and layer.momentum is not None


def norm_relu(norm: nn.Module, x: Tensor, other: Tensor | None = None) -> Tensor:
    """``relu(norm(x) + other)``; in one step where ``norm`` is ours and has no hooks.

    >>> norm_relu(nn.BatchNorm2d(1), torch.tensor([-1.0, 1.0]).view(2, 1, 1, 1)).flatten().round().tolist()
    [0.0, 1.0]
    """
    if type(norm) is FusedBatchNorm2d:
        tensors = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
        sizes = separate_sizes(norm) or x.shape[:1]
        if supports_fusion(norm, tensors, x, other, sizes):
            count_batches(norm, sizes)
            settings = norm.training, norm.momentum, norm.eps
            if torch.is_grad_enabled():
                fused: Tensor = _NormReLU.apply(x, other, *tensors, *settings, sizes)  # type: ignore[no-untyped-call]
                return fused
            return norm_forward(x, other, tensors, settings, sizes)[1]  # type: ignore[arg-type]
    out = norm(x)
    return F.relu(out if other is None else out + other, inplace=True)


def supports_fusion(
    norm: FusedBatchNorm2d, tensors: tuple[Tensor | None, ...], x: Tensor, other: Tensor | None, sizes: Sequence[int]
) -> bool:
    """Whether one step computes what the layer would now: its settings may have changed since it was swapped."""
    if has_hooks(norm) or has_global_hooks():
        return False
    if not (plain_tensors(x, *tensors) if other is None else plain_tensors(x, other, *tensors)):
        return False
    if norm.momentum is None or not norm.track_running_stats or torch.get_num_threads() > _MOST_THREADS:
        return False
    if x.dim() != 4 or not x.is_contiguous(memory_format=torch.channels_last):  # and so is the result
        return False
    if not x.numel() or (norm.training and min(sizes) * x.shape[2] * x.shape[3] <= 1):
        return False  # torch says what is wrong with a single value per channel
    if (other is not None and other.shape != x.shape) or sum(sizes) != x.shape[0]:
        return False
    channels = x.shape[1:2]
    return all(one.shape == channels and one.is_contiguous() for one in tensors)  # type: ignore[union-attr]


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
        x, y, statistics = norm_forward(x, other, (weight, bias, running_mean, running_var), settings, sizes)
        ctx.training, ctx.statistics, ctx.sizes = training, statistics, sizes
        ctx.save_for_backward(x, y, weight)
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        needed = ctx.needs_input_grad[:4]
        gradients = norm_backward(*ctx.saved_tensors, grad_output, ctx.statistics, ctx.training, ctx.sizes, needed)
        return *gradients, *(None,) * 6


def norm_forward(
    x: Tensor, other: Tensor | None, tensors: NormTensors, settings: tuple[bool, float, float], sizes: Sequence[int]
) -> tuple[Tensor, Tensor, Statistics]:
    """x as it lies in memory, the result, and the statistics of every batch; ``settings``: training, momentum, eps."""
    from einstellung.kernels import norm_loops

    x = x.contiguous(memory_format=torch.channels_last)
    if other is not None:
        other = other.contiguous(memory_format=torch.channels_last)
    y = torch.empty_like(x)
    statistics = np.empty((len(sizes), 2, x.shape[1]))
    images, others, results, *values = _addresses(x, other, y, *tensors)
    for number, (offset, shape) in enumerate(_batches(x, sizes)):
        addresses = images + offset, others and others + offset, results + offset, *values
        norm_loops.forward(addresses, *shape, *settings, statistics[number])
    return x, y, statistics


def norm_backward(
    x: Tensor,
    y: Tensor,
    weight: Tensor,
    grad_output: Tensor,
    statistics: Statistics,
    training: bool,
    sizes: Sequence[int],
    needed: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of x, of what was added, of gamma and beta, as far as they are needed."""
    from einstellung.kernels import norm_loops

    needs_x, needs_other, needs_weight, needs_bias = needed
    x, y = (
        one.contiguous(memory_format=torch.channels_last) for one in (x, y)
    )  # saved-tensor hooks may have moved them
    grad_output = grad_output.contiguous(memory_format=torch.channels_last)
    grad_x = torch.empty_like(x) if needs_x or needs_other else None
    grad_other = torch.empty_like(x) if needs_other else None
    channels = weight.shape[0]
    shape = (channels,) if len(sizes) == 1 else (len(sizes), channels)
    grad_weight = weight.new_empty(shape) if needs_weight else None
    grad_bias = weight.new_empty(shape) if needs_bias else None
    from_outputs, images, results, gamma, to_x, to_other, to_weight, to_bias = _addresses(
        grad_output, x, y, weight, grad_x, grad_other, grad_weight, grad_bias
    )
    for number, (offset, rows) in enumerate(_batches(x, sizes)):
        row = 4 * number * channels
        sources = from_outputs + offset, images + offset, results + offset, gamma
        targets = (
            to_x and to_x + offset,
            to_other and to_other + offset,
            to_weight and to_weight + row,
            to_bias and to_bias + row,
        )
        norm_loops.backward((*sources, *targets), *rows, training, statistics[number])
    return (grad_x if needs_x else None), grad_other, _summed(grad_weight), _summed(grad_bias)


def _batches(x: Tensor, sizes: Sequence[int]) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Where each batch begins in memory, in bytes, and its rows."""
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
    group = max(1, _WIDTH // channels)
    if pixels % group:
        group = 1
    return pixels // group, channels * group, channels


def _summed(by_batch: Tensor | None) -> Tensor | None:
    """Over batches, where there are several."""
    return by_batch if by_batch is None or by_batch.dim() == 1 else by_batch.sum(dim=0)


def _addresses(*tensors: Tensor | None) -> tuple[int, ...]:
    return tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
