"""The only way to the CPU kernels: what ``training.kernels`` means here, faster layers for a net, compiling ahead of time."""

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
    """``own`` or ``torch`` for what ``training.kernels`` asks, next to these other settings of a run's training.

    >>> resolve_kernels("auto", "bf16", torch.device("cpu"), compiles=False, layout="auto")
    'torch'
    """
    possible = precision == "fp32" and device.type == "cpu" and not compiles and layout != "contiguous"
    if asked == "own":
        if not possible:
            raise InputError(
                "training.kernels is 'own': they are for the CPU in fp32, channels last, without compile; give auto or torch"
            )
        if (obstacle := kernels.obstacle()) is not None:
            raise InputError(f"training.kernels is 'own', {obstacle}, or give 'auto'")
    if asked == "auto":
        return "own" if possible and available() else "torch"
    return asked


def compile_kernels() -> None:
    """Compile the kernels if this machine never did; otherwise every worker would begin with it."""
    if not kernels.is_compiled():
        print("compiling kernels, once on this machine: less than a minute", file=sys.stderr, flush=True)
        kernels.load()


def load_kernels() -> None:
    """Have the kernels ready in this process, where they can be used."""
    if available():
        kernels.load()
