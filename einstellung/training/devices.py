"""Devices: lookup by name, deterministic settings, and facts for the record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from einstellung.errors import InputError
from einstellung.torch_compat import cpu_has_bf16


def resolve_device(name: str) -> torch.device:
    """The device by name; ``auto`` is a CUDA device, else an Apple GPU, else the CPU. An absent device is an error.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (":" in name and not (kind == "cuda" and number.isdecimal())):
        raise InputError(f"training.device is '{name}': give auto, cpu, cuda, cuda:N or mps")
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"training.device is '{name}', but torch finds no CUDA device here")
    if number and int(number) >= (count := torch.cuda.device_count()):
        there = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise InputError(f"training.device is '{name}', but this machine has {there}")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise InputError("training.device is 'mps', but torch finds no Apple GPU here")
    return torch.device(name)


def computes_in_bf16(device: torch.device) -> bool:
    """Whether the hardware has bfloat16 instructions; for Apple GPUs torch does not say."""
    if device.type == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return cpu_has_bf16()
    return False


def prepare_device(device: torch.device, matmul: str) -> None:
    """Make torch deterministic, with the matrix precision of ``training.matmul``.

    On a CUDA device this disables benchmarking of algorithms and those whose summation order depends on thread timing, and uses
    TF32 for convolutions only if matrix products use it (torch's default differs). An operation without a deterministic algorithm
    still runs, and torch warns about it by name. Apple GPUs have no such settings.
    """
    torch.set_float32_matmul_precision(matmul)
    if device.type != "cuda":
        return
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # read at the first product; cuBLAS needs it to be deterministic
    torch.backends.cudnn.allow_tf32 = matmul != "highest"
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    # filling uninitialised memory costs time, and nothing here reads it
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.cuda.reset_peak_memory_stats(device)


def accelerator_facts(device: torch.device) -> dict[str, Any]:
    """Of a CUDA device: its name, whether it supports bf16 (which decides ``auto``), and its peak memory in bytes.

    >>> accelerator_facts(torch.device("cpu"))
    {}
    """
    if device.type != "cuda":
        return {}
    return {
        "accelerator": {
            "name": torch.cuda.get_device_name(device),
            "computes_in_bf16": computes_in_bf16(device),
            "peak_memory": torch.cuda.max_memory_allocated(device),
        }
    }


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Set torch's number of threads, and restore it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
