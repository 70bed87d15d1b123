"""What the kernels say to whoever differentiates twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from einstellung.errors import InputError


def first_derivative_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward pass that is refused where its result is to be differentiated again.

    torch's own ``once_differentiable`` complains later, without a remedy, and takes the result for a constant wherever the
    gradient that comes in is one.
    """

    @wraps(backward)
    def refusing(ctx: Any, *gradients: Any) -> Any:
        if torch.is_grad_enabled():  # that is, create_graph: torch turns it off in any other backward pass
            raise InputError(
                "a gradient is differentiated again, and our kernels have no second derivative: "
                "set training.kernels to torch"
            )
        return backward(ctx, *gradients)

    return refusing
