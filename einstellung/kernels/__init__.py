"""Faster ways through layers that a net has already, for CPUs without bf16: compiled by numba where that is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from torch import nn

from einstellung.errors import InputError
from einstellung.kernels.batch_norm import FusedBatchNorm2d, norm_relu, suits_fusion
from einstellung.kernels.convolution import WinogradConv2d, suits_winograd
from einstellung.kernels.narrow import NarrowConv2d, suits_narrow

__all__ = ["accelerate", "available", "norm_relu", "require_available"]


_COMPILED = ("direct_loops", "norm_loops", "square_loops", "strip_loops", "winograd")  # modules that numba compiles


def available() -> bool:
    """Whether numba is installed and can keep compiled code on this machine."""
    return _obstacle() is None


def require_available() -> None:
    obstacle = _obstacle()
    if obstacle is not None:
        raise InputError(f"training.kernels is 'own', {obstacle}, or give 'auto'")


@cache
def _obstacle() -> str | None:
    """What stands in the way of the kernels, found out once, and what to do about it."""
    if find_spec("numba") is None:
        return "which needs numba: pip install 'einstellung[fast]'"
    try:
        for name in _COMPILED:
            import_module(f"einstellung.kernels.{name}")
    except Exception as error:  # noqa: BLE001 - of numba or LLVM, of whatever kind: torch computes without them
        reason = " ".join(str(error).split())
        return f"but numba cannot compile them here ({reason}): let NUMBA_CACHE_DIR name a folder that can be written"
    return None


def accelerate(net: nn.Module) -> nn.Module:
    """Let the layers of a net that suit it use the kernels; weights, names and hooks stay as they are.

    >>> net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 64, 1), nn.Conv2d(64, 64, 3, padding=1))
    >>> [type(layer).__name__ for layer in accelerate(net)]
    ['NarrowConv2d', 'Conv2d', 'WinogradConv2d']
    """
    for layer in net.modules():
        if suits_winograd(layer):
            layer.__class__ = WinogradConv2d
        elif suits_narrow(layer):
            layer.__class__ = NarrowConv2d
        elif suits_fusion(layer):
            layer.__class__ = FusedBatchNorm2d
    return net
