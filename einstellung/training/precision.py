"""Precision and memory layout: settings of the run, resolved once and recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from einstellung.errors import InputError
from einstellung.training.devices import computes_in_bf16, resolve_device


@dataclass(frozen=True)
class Precision:
    """``fp32``, or ``bf16``: automatic mixed precision with bfloat16, weights and updates in fp32."""

    name: str
    device: torch.device

    @staticmethod
    def resolve(name: str, device: str) -> Precision:
        """``auto`` means bf16 where the hardware is known to support it, fp32 elsewhere, where explicit bf16 would be slow.

        >>> Precision.resolve("fp32", "cpu").name
        'fp32'
        """
        place = resolve_device(device)
        if name not in ("auto", "fp32", "bf16"):
            raise InputError(f"training.precision is '{name}': give fp32, bf16 or auto")
        if name == "auto":
            name = "bf16" if computes_in_bf16(place) else "fp32"
        if name == "bf16" and (lacking := _lacks_for_bf16(place)):
            raise InputError(f"training.precision is 'bf16', but {lacking}; give fp32 or auto")
        return Precision(name, place)

    def autocast(self) -> AbstractContextManager[Any]:
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)


def _lacks_for_bf16(device: torch.device) -> str | None:
    """Why torch cannot compute in bf16 on the device, not even slowly; None if it can."""
    if device.type == "cuda":
        with torch.cuda.device(device):
            return None if torch.cuda.is_bf16_supported() else f"{torch.cuda.get_device_name(device)} has no bf16"
    if device.type == "mps" and not torch.backends.mps.is_macos_or_newer(14, 0):
        return "Apple GPUs support it only from macOS 14"
    return None


def suits_channels_last(net: nn.Module, device: torch.device | None = None) -> bool:
    """Whether the faster channels-last layout may be used: convolutions whose outputs come in groups of eight channels.

    With fewer than eight channels, torch 2.13's CPU kernels write out of bounds in this layout, and a GPU's tensor cores take
    channels in groups of eight. On Apple GPUs torch's convolutions have no backward pass for it.
    """
    if device is not None and device.type == "mps":
        return False
    convolutions = [module for module in net.modules() if isinstance(module, nn.Conv2d)]
    return bool(convolutions) and all(module.out_channels % 8 == 0 for module in convolutions)
