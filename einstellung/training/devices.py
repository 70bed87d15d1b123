"""Devices: lookup by name, deterministic settings, and facts for the record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from einstellung.errors import InputError


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
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False


def prepare_device(device: torch.device, matmul: str) -> None:
    """Make torch deterministic, with the matrix precision of ``training.matmul``.

    On a CUDA device this means no algorithm chosen by its speed on the day, none whose sums come in the order in which threads
    end, and convolutions in TF32 only where products of matrices are: torch would otherwise use it for convolutions on its
    own. An operation without such an algorithm still runs, and torch warns of it by name. An Apple GPU has no such settings.
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
    """Of a CUDA device: its name, whether it computes in bf16 (why ``auto`` chose what it did), the most bytes it held.

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
