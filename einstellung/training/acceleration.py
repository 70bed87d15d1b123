"""The only entry to the CPU kernels: resolve ``training.kernels``, accelerate a net, compile ahead of time."""

from __future__ import annotations

import sys

import torch

from einstellung import kernels
from einstellung.errors import InputError
from einstellung.kernels import PARTS, accelerate

__all__ = ["PARTS", "accelerate", "available", "compile_kernels", "load_kernels", "resolve_kernels"]


def available() -> bool:
    """Whether numba is installed and can cache compiled code on this machine."""
    return kernels.obstacle() is None


def resolve_kernels(asked: str, precision: str, device: torch.device, compiles: bool, layout: str) -> str:
    """Resolve ``training.kernels`` to ``own`` or ``torch``, given these other training settings.

    >>> resolve_kernels("auto", "bf16", torch.device("cpu"), compiles=False, layout="auto")
    'torch'
    """
    possible = precision == "fp32" and device.type == "cpu" and not compiles and layout != "contiguous"
    if asked == "own":
        if not possible:
            raise InputError(
                "training.kernels is 'own', which needs the CPU, fp32 and channels last, without compile: give auto or torch"
            )
        if (obstacle := kernels.obstacle()) is not None:
            raise InputError(f"training.kernels is 'own', {obstacle}, or give 'auto'")
    if asked == "auto":
        return "own" if possible and available() else "torch"
    return asked


def compile_kernels() -> None:
    """Compile the kernels if this machine has not yet; otherwise every worker would compile them."""
    if not kernels.is_compiled():
        print("compiling kernels (once per machine, less than a minute)", file=sys.stderr, flush=True)
        kernels.load()


def load_kernels() -> None:
    """Load the kernels into this process, if they can be used."""
    if available():
        kernels.load()
