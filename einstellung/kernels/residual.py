"""A residual block as one step: y = relu(norm2(conv2(relu(norm1(conv1(x))))) + x).

The parts are those of :mod:`.convolution`, :mod:`.narrow` and :mod:`.batch_norm`, and so are their results. In a narrow net,
going from layer to layer takes as long as some layers do; here autograd has one step instead of four, and the two gradients of
x are added where the second one is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.backbones.layers import has_hooks
from einstellung.backbones.resnet import BasicBlock
from einstellung.kernels import convolution, narrow
from einstellung.kernels.autograd import first_derivative_only
from einstellung.kernels.batch_norm import (
    FusedBatchNorm2d,
    count_batches,
    norm_backward,
    norm_forward,
    separate_sizes,
    supports_fusion,
)
from einstellung.kernels.convolution import WinogradConv2d, winograd_backward, winograd_forward
from einstellung.kernels.narrow import NarrowConv2d, narrow_backward, narrow_forward


def residual_step(block: BasicBlock, x: Tensor) -> Tensor | None:
    """The block in one step, where its layers are ours, none has hooks and all of them learn; otherwise None."""
    conv1, norm1, conv2, norm2, shortcut = block.conv1, block.bn1, block.conv2, block.bn2, block.shortcut
    if type(shortcut) is not nn.Identity or type(norm1) is not FusedBatchNorm2d or type(norm2) is not FusedBatchNorm2d:
        return None
    if type(conv1) is not type(conv2) or type(conv1) not in (NarrowConv2d, WinogradConv2d):
        return None
    if not torch.is_grad_enabled() or norm1.training != norm2.training:
        return None
    sizes = separate_sizes(norm1) or x.shape[:1]
    tensors1, tensors2 = ((norm.weight, norm.bias, norm.running_mean, norm.running_var) for norm in (norm1, norm2))
    learned = (conv1.weight, *tensors1[:2], conv2.weight, *tensors2[:2])
    if not (
        all(isinstance(one, Tensor) and one.requires_grad for one in learned)
        and not any(map(has_hooks, (conv1, conv2, shortcut)))
        and _supports_convolutions(conv1, conv2, x)
        and supports_fusion(norm1, tensors1, x, None, sizes)
        and supports_fusion(norm2, tensors2, x, None, sizes)
    ):
        return None
    count_batches(norm1, sizes)
    count_batches(norm2, sizes)
    settings = [(norm.training, norm.momentum, norm.eps) for norm in (norm1, norm2)]
    statistics = (*tensors1[2:], *tensors2[2:])
    out: Tensor = _Residual.apply(x, *learned, *statistics, settings, sizes, type(conv1) is NarrowConv2d)  # type: ignore[no-untyped-call]
    return out


def _supports_convolutions(conv1: nn.Conv2d, conv2: nn.Conv2d, x: Tensor) -> bool:
    """Whether our kernels would compute both convolutions, and the output has the shape of the input."""
    supports = narrow.supports if type(conv1) is NarrowConv2d else convolution.supports
    channels_last = x.is_contiguous(memory_format=torch.channels_last)
    for conv in (conv1, conv2):
        if conv.bias is not None or conv.stride != (1, 1) or conv.weight.shape[0] != x.shape[1]:
            return False
        if not channels_last or not supports(conv, conv.weight, None, x):
            return False
    return True


class _Residual(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight1: Tensor,
        gamma1: Tensor,
        beta1: Tensor,
        weight2: Tensor,
        gamma2: Tensor,
        beta2: Tensor,
        mean1: Tensor,
        var1: Tensor,
        mean2: Tensor,
        var2: Tensor,
        settings: Sequence[tuple[bool, float, float]],
        sizes: Sequence[int],
        is_narrow: bool,
    ) -> Tensor:
        first, kept1 = _convolve(x, weight1, is_narrow)
        first, middle, statistics1 = norm_forward(first, None, (gamma1, beta1, mean1, var1), settings[0], sizes)
        second, kept2 = _convolve(middle, weight2, is_narrow)
        second, y, statistics2 = norm_forward(second, x, (gamma2, beta2, mean2, var2), settings[1], sizes)
        ctx.statistics, ctx.training = (statistics1, statistics2), settings[0][0]
        ctx.sizes, ctx.is_narrow = sizes, is_narrow
        ctx.first_kept = len(kept1)
        ctx.save_for_backward(x, first, middle, second, y, weight1, gamma1, weight2, gamma2, *kept1, *kept2)
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, first, middle, second, y, weight1, gamma1, weight2, gamma2, *kept = ctx.saved_tensors
        kept1, kept2 = kept[: ctx.first_kept], kept[ctx.first_kept :]
        needs_x = ctx.needs_input_grad[0]
        statistics1, statistics2 = ctx.statistics
        grad, grad_shortcut, grad_gamma2, grad_beta2 = norm_backward(
            second, y, gamma2, grad_output, statistics2, ctx.training, ctx.sizes, (True, needs_x, True, True)
        )
        grad, grad_weight2 = _convolve_backward(middle, weight2, kept2, grad, ctx.is_narrow)
        grad, _, grad_gamma1, grad_beta1 = norm_backward(
            first, middle, gamma1, grad, statistics1, ctx.training, ctx.sizes, (True, False, True, True)
        )
        grad, grad_weight1 = _convolve_backward(x, weight1, kept1, grad, ctx.is_narrow, needs_x, grad_shortcut)
        return grad, grad_weight1, grad_gamma1, grad_beta1, grad_weight2, grad_gamma2, grad_beta2, *(None,) * 7


def _convolve(x: Tensor, weight: Tensor, is_narrow: bool) -> tuple[Tensor, list[Tensor]]:
    return (narrow_forward(x, weight, 1), []) if is_narrow else winograd_forward(x, weight, keeps=True)


def _convolve_backward(
    x: Tensor,
    weight: Tensor,
    kept: Sequence[Tensor],
    grad_output: Tensor | None,
    is_narrow: bool,
    needs_x: bool = True,
    into: Tensor | None = None,
) -> tuple[Any, Tensor | None]:
    """The gradients of a convolution's input, added to ``into``, and of its weights."""
    assert grad_output is not None
    if not is_narrow:
        return winograd_backward(x.shape, kept, grad_output, needs_x, True, into=into)
    return narrow_backward(x, weight, grad_output, 1, needs_x, True, into=into)
