"""Precision and device: a setting of the run, resolved once and recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from einstellung.errors import InputError


@dataclass(frozen=True)
class Precision:
    """``fp32``, or ``bf16``: automatic mixed precision with bfloat16, weights and updates in fp32."""

    name: str
    device: torch.device

    @staticmethod
    def resolve(name: str, device: str) -> Precision:
        """``auto`` means bf16 where the hardware computes in it, fp32 elsewhere.

        >>> Precision.resolve("fp32", "cpu").name
        'fp32'
        """
        place = resolve_device(device)
        if name not in ("auto", "fp32", "bf16"):
            raise InputError(f"training.precision is '{name}': give fp32, bf16 or auto")
        if name == "auto":
            name = "bf16" if _computes_in_bf16(place) else "fp32"
        return Precision(name, place)

    def autocast(self) -> AbstractContextManager[Any]:
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)


def resolve_device(name: str) -> torch.device:
    """The device by name; one that this machine lacks is named at once."""
    if name not in ("cpu", "cuda", "mps") and not name.startswith("cuda:"):
        raise InputError(f"training.device is '{name}': give cpu, cuda, cuda:N or mps")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"training.device is '{name}', but torch finds no CUDA device here")
    if name == "mps" and not torch.backends.mps.is_available():
        raise InputError("training.device is 'mps', but torch finds no Apple GPU here")
    return torch.device(name)


def _computes_in_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False


def suits_channels_last(net: nn.Module) -> bool:
    """Whether the faster channels-last layout may be used: convolutions whose outputs come in groups of eight channels.

    With fewer than eight channels, torch 2.13's CPU kernels write beyond their memory in this layout.
    """
    convolutions = [module for module in net.modules() if isinstance(module, nn.Conv2d)]
    return bool(convolutions) and all(module.out_channels % 8 == 0 for module in convolutions)
