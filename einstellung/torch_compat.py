"""What newer torch releases have and the oldest supported one (2.4) lacks, each with a fallback, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as _module
from torch.utils._foreach_utils import _get_fused_kernels_supported_devices

_GLOBAL_HOOKS = tuple(
    getattr(_module, name)  # torch adds to these dictionaries and never replaces them
    for name in (
        "_global_backward_pre_hooks",
        "_global_backward_hooks",
        "_global_forward_pre_hooks",
        "_global_forward_hooks",
    )
)


def has_global_hooks() -> bool:
    """Whether a hook is registered for every module (newer releases of torch have a private function for it).

    >>> handle = torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    >>> has_global_hooks()
    True
    >>> handle.remove()
    >>> has_global_hooks()
    False
    """
    backward_pre, backward, forward_pre, forward = _GLOBAL_HOOKS  # every fused layer asks at every step: no loop
    return bool(backward_pre or backward or forward_pre or forward)


def is_compiled(net: nn.Module) -> bool:
    """Whether the net is the result of ``torch.compile``, or ``compile()`` was called on it or on a part of it."""
    return hasattr(net, "_orig_mod") or any(part._compiled_call_impl is not None for part in net.modules())


@contextmanager
def uncompiled(net: nn.Module) -> Iterator[None]:
    """Run a compiled net as written: compiled code calls no hooks that were added later. A no-op for other nets."""
    if not is_compiled(net):
        yield
    elif hasattr(torch.compiler, "set_stance"):  # torch 2.6
        with torch.compiler.set_stance("force_eager"):
            yield
    else:
        with _compiled_calls_removed(net):
            yield


@contextmanager
def attention_hooks_called() -> Iterator[None]:
    """Have torch's encoder layers call their attention module in evaluation: before 2.5, fused code ignored its hooks."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def _compiled_calls_removed(net: nn.Module) -> Iterator[None]:
    """Before ``set_stance``: replace what ``torch.compile`` put in front of each module's call, and restore it afterwards."""
    changes: list[tuple[nn.Module, str, Any]] = []
    for part in net.modules():
        if part._compiled_call_impl is not None:
            changes.append((part, "_compiled_call_impl", None))
        if isinstance(wrapped := part._modules.get("_orig_mod"), nn.Module):
            changes.append((part, "forward", wrapped.__call__))
    before = [vars(part)[name] for part, name, _ in changes]
    try:
        for part, name, plain in changes:
            object.__setattr__(part, name, plain)  # the wrapper's own __setattr__ would change the wrapped module
        yield
    finally:
        for (part, name, _), compiled in zip(changes, before, strict=True):
            object.__setattr__(part, name, compiled)


def fuses_updates(device: torch.device) -> bool:
    """Whether SGD and Adam can update all weights in one kernel there; torch 2.4 cannot on Apple GPUs.

    >>> fuses_updates(torch.device("cpu"))
    True
    """
    return device.type in _get_fused_kernels_supported_devices()


def cpu_has_bf16() -> bool:
    """Whether the CPU has bfloat16 instructions; False for torch 2.4, which cannot say."""
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(check() for check in checks if check is not None)
