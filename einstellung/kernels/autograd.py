"""What the kernels require of autograd: plain tensors, and first derivatives only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from einstellung.errors import InputError

_PLAIN = (Tensor, nn.Parameter)


def plain_tensors(*tensors: Tensor | None) -> bool:
    """Whether all are plain fp32 tensors in the CPU's memory, outside autocast, tracing, functorch and forward-mode AD."""
    if (
        torch.compiler.is_compiling()
        or torch.is_autocast_enabled("cpu")
        or torch._C._is_tracing()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    ):
        return False
    for x in tensors:  # noqa: SIM110 - every layer asks at every step: all() would take twice as long
        if type(x) not in _PLAIN or x.dtype is not torch.float32 or not x.is_cpu:  # type: ignore[union-attr]
            return False
    return True


def first_derivative_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward pass that refuses to be differentiated again.

    torch's own ``once_differentiable`` complains later, names no remedy, and treats the result as a constant wherever
    ``grad_output`` is one.
    """

    @wraps(backward)
    def refusing(ctx: Any, *grad_outputs: Any) -> Any:
        if torch.is_grad_enabled():  # that is, create_graph: torch turns it off in any other backward pass
            raise InputError(
                "a gradient is differentiated again, but the kernels have no second derivative: "
                "set training.kernels to torch"
            )
        return backward(ctx, *grad_outputs)

    return refusing
