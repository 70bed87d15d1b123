"""A residual block as one step: y = relu(norm2(conv2(relu(norm1(conv1(x))))) + x).

The parts are those of :mod:`.convolution`, :mod:`.narrow` and :mod:`.batch_norm`, and so are their results. In a narrow net
the way from layer to layer takes as long as some layers do; here it is gone once through, and the two gradients of x are
added where the second one is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.kernels.batch_norm import (
    FusedBatchNorm2d,
    count_batches,
    is_watched,
    lots_for,
    may_fuse,
    norm_backward,
    norm_forward,
)
from einstellung.kernels.convolution import WinogradConv2d, takes, winograd_backward, winograd_forward
from einstellung.kernels.derivatives import first_derivative_only
from einstellung.kernels.narrow import NarrowConv2d, narrow_backward, narrow_forward
from einstellung.kernels.narrow import takes as takes_narrow


def residual_block(
    conv1: nn.Module, norm1: nn.Module, conv2: nn.Module, norm2: nn.Module, shortcut: nn.Module, x: Tensor
) -> Tensor | None:
    """The block in one step, where its layers are ours, nobody listens to them and all of them learn; otherwise None."""
    if type(shortcut) is not nn.Identity or type(norm1) is not FusedBatchNorm2d or type(norm2) is not FusedBatchNorm2d:
        return None
    if type(conv1) is not type(conv2) or type(conv1) not in (NarrowConv2d, WinogradConv2d):
        return None
    if not torch.is_grad_enabled() or norm1.training != norm2.training:
        return None
    sizes = lots_for(norm1) or x.shape[:1]
    own1, own2 = ((norm.weight, norm.bias, norm.running_mean, norm.running_var) for norm in (norm1, norm2))
    learned = (conv1.weight, *own1[:2], conv2.weight, *own2[:2])
    if not (
        all(isinstance(one, Tensor) and one.requires_grad for one in learned)
        and not any(map(is_watched, (conv1, conv2, shortcut)))
        and _suit(conv1, conv2, x)
        and may_fuse(norm1, own1, x, None, sizes)
        and may_fuse(norm2, own2, x, None, sizes)
    ):
        return None
    count_batches(norm1, sizes)
    count_batches(norm2, sizes)
    settings = [(norm.training, norm.momentum, norm.eps) for norm in (norm1, norm2)]
    statistics = (*own1[2:], *own2[2:])
    out: Tensor = _Residual.apply(x, *learned, *statistics, settings, sizes, type(conv1) is NarrowConv2d)  # type: ignore[no-untyped-call]
    return out


def _suit(conv1: nn.Module, conv2: nn.Module, x: Tensor) -> bool:
    """Whether both convolutions would be computed by our kernels, and give what they are given the shape of."""
    take = takes_narrow if type(conv1) is NarrowConv2d else takes
    channels_last = x.is_contiguous(memory_format=torch.channels_last)
    for conv in (conv1, conv2):
        if conv.bias is not None or conv.stride != (1, 1) or conv.weight.shape[0] != x.shape[1]:  # type: ignore[index]
            return False
        if not channels_last or not take(conv, conv.weight, None, x):  # type: ignore[arg-type]
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
        narrow: bool,
    ) -> Tensor:
        first, kept1 = _convolved(x, weight1, narrow)
        first, middle, found1 = norm_forward(first, None, (gamma1, beta1, mean1, var1), settings[0], sizes)
        second, kept2 = _convolved(middle, weight2, narrow)
        second, y, found2 = norm_forward(second, x, (gamma2, beta2, mean2, var2), settings[1], sizes)
        ctx.found, ctx.training, ctx.sizes, ctx.narrow = (found1, found2), settings[0][0], sizes, narrow
        ctx.first_kept = len(kept1)
        ctx.save_for_backward(x, first, middle, second, y, weight1, gamma1, weight2, gamma2, *kept1, *kept2)
        return y

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, first, middle, second, y, weight1, gamma1, weight2, gamma2, *kept = ctx.saved_tensors
        kept1, kept2 = kept[: ctx.first_kept], kept[ctx.first_kept :]
        wants_x = ctx.needs_input_grad[0]
        found1, found2 = ctx.found
        inside = ctx.training, ctx.sizes
        down, side, by_gamma2, by_beta2 = norm_backward(
            second, y, gamma2, gradient, found2, *inside, (True, wants_x, True, True)
        )
        down, by_weight2 = _returned(middle, weight2, kept2, down, ctx.narrow)
        down, _, by_gamma1, by_beta1 = norm_backward(
            first, middle, gamma1, down, found1, *inside, (True, False, True, True)
        )
        down, by_weight1 = _returned(x, weight1, kept1, down, ctx.narrow, wants_x, side)
        return down, by_weight1, by_gamma1, by_beta1, by_weight2, by_gamma2, by_beta2, *(None,) * 7


def _convolved(x: Tensor, weight: Tensor, narrow: bool) -> tuple[Tensor, list[Tensor]]:
    return (narrow_forward(x, weight, 1), []) if narrow else winograd_forward(x, weight, keeps=True)


def _returned(
    x: Tensor,
    weight: Tensor,
    kept: Sequence[Tensor],
    gradient: Tensor | None,
    narrow: bool,
    wants_x: bool = True,
    side: Tensor | None = None,
) -> tuple[Any, Tensor | None]:
    """The gradients of a convolution's input, with what comes ``side``ways added, and of its weights."""
    assert gradient is not None
    if not narrow:
        return winograd_backward(x.shape, kept, gradient, wants_x, True, into=side)
    return narrow_backward(x, weight, gradient, 1, wants_x, True, into=side)
