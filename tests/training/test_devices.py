"""Devices by name, on machines that have other ones than this; settings under which a run repeats itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch

from einstellung.backbones import ResNet18
from einstellung.errors import InputError
from einstellung.torch_compat import fuses_updates
from einstellung.training.devices import accelerator_facts, computes_in_bf16, prepare_device, resolve_device
from einstellung.training.precision import Precision, suits_channels_last

CUDA = torch.device("cuda:1")


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many CUDA devices, with or without bf16 in hardware and in emulation, or with an Apple GPU."""

    def build(cuda: int = 0, bf16: bool = True, emulated: bool = True, mps: bool = False, macos: int = 14) -> None:
        def bf16_supported(including_emulation: bool = True) -> bool:
            return bf16 or (emulated and including_emulation)

        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", bf16_supported)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"card {device.index}")
        monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 1000 + device.index)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda major, minor: macos >= major)

    return build


@pytest.mark.parametrize(
    ("there", "name"), [({}, "cpu"), ({"mps": True}, "mps"), ({"cuda": 1}, "cuda"), ({"cuda": 2, "mps": True}, "cuda")]
)
def test_auto_is_the_fastest_device_there_is(machine, there, name):
    machine(**there)
    assert resolve_device("auto") == torch.device(name)


@pytest.mark.parametrize(
    ("there", "name", "words"),
    [
        ({}, "cuda", "'cuda', but torch finds no CUDA device here"),
        ({}, "cuda:0", "'cuda:0', but torch finds no CUDA device here"),
        ({"cuda": 1}, "cuda:1", "'cuda:1', but this machine has cuda:0$"),
        ({"cuda": 4}, "cuda:7", "'cuda:7', but this machine has cuda:0 to cuda:3"),
        ({"cuda": 1}, "mps", "no Apple GPU"),
        ({"cuda": 1}, "cuda:", "give auto, cpu, cuda, cuda:N or mps"),
        ({"cuda": 1}, "cuda:-1", "give auto, cpu, cuda, cuda:N or mps"),
        ({"cuda": 1}, "cuda:first", "give auto, cpu, cuda, cuda:N or mps"),
        ({"mps": True}, "mps:0", "give auto, cpu, cuda, cuda:N or mps"),
        ({}, "meta", "give auto, cpu, cuda, cuda:N or mps"),
    ],
)
def test_a_device_that_is_not_there_is_named_in_one_line(machine, there, name, words):
    machine(**there)
    with pytest.raises(InputError, match=words) as error:
        resolve_device(name)
    assert "\n" not in str(error.value)


def test_the_last_of_several_devices_can_be_named(machine):
    machine(cuda=2)
    assert resolve_device("cuda:1") == CUDA


def test_auto_precision_follows_the_hardware(machine):
    machine(cuda=2)
    assert Precision.resolve("auto", "cuda:1") == Precision("bf16", CUDA)
    machine(cuda=2, bf16=False)  # torch would emulate it, slowly
    assert Precision.resolve("auto", "cuda:1").name == "fp32"
    assert Precision.resolve("bf16", "cuda:1").name == "bf16"
    machine(mps=True)
    assert Precision.resolve("auto", "mps").name == "fp32"
    assert Precision.resolve("bf16", "mps").name == "bf16"


@pytest.mark.parametrize(
    ("there", "device", "words"),
    [
        ({"cuda": 2, "bf16": False, "emulated": False}, "cuda:1", "card 1 has no bf16; give fp32 or auto"),
        ({"mps": True, "macos": 13}, "mps", "Apple GPUs support it only from macOS 14; give fp32 or auto"),
    ],
)
def test_bf16_by_name_is_refused_where_torch_has_none(machine, there, device, words):
    machine(**there)
    assert Precision.resolve("auto", device).name == "fp32"
    with pytest.raises(InputError, match=f"training.precision is 'bf16', but {words}"):
        Precision.resolve("bf16", device)


@pytest.fixture
def settings_put_back(monkeypatch) -> Iterator[None]:
    """Torch's settings are the process's: they are put back."""
    matmul, deterministic = torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()
    only_warned = torch.is_deterministic_algorithms_warn_only_enabled()
    for name in ("allow_tf32", "benchmark", "deterministic"):
        monkeypatch.setattr(torch.backends.cudnn, name, getattr(torch.backends.cudnn, name))
    filled = torch.utils.deterministic.fill_uninitialized_memory
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    yield
    torch.set_float32_matmul_precision(matmul)
    torch.use_deterministic_algorithms(deterministic, warn_only=only_warned)
    torch.utils.deterministic.fill_uninitialized_memory = filled
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


@pytest.mark.parametrize(("matmul", "tf32"), [("highest", False), ("high", True), ("medium", True)])
def test_a_cuda_device_is_made_to_repeat_itself(settings_put_back, monkeypatch, matmul, tf32):
    counted_from = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", counted_from.append)
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = not tf32, True
    prepare_device(CUDA, matmul)
    assert torch.get_float32_matmul_precision() == matmul
    assert torch.backends.cudnn.allow_tf32 is tf32
    assert torch.backends.cudnn.benchmark is False
    assert torch.backends.cudnn.deterministic is True
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert counted_from == [CUDA]


def test_the_cpu_needs_no_settings_but_that_of_products(settings_put_back):
    prepare_device(torch.device("cpu"), "high")
    assert torch.get_float32_matmul_precision() == "high"
    assert not torch.are_deterministic_algorithms_enabled()
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ


def test_what_a_run_records_of_its_accelerator(machine):
    machine(cuda=2, bf16=False)
    facts = {"name": "card 1", "computes_in_bf16": False, "peak_memory": 1001}
    assert accelerator_facts(CUDA) == {"accelerator": facts}
    assert accelerator_facts(torch.device("mps")) == {}
    assert not computes_in_bf16(torch.device("mps"))


def test_channels_last_is_for_the_cpu_and_cuda():
    net = ResNet18(4, width=8)
    assert suits_channels_last(net, torch.device("cpu"))
    assert suits_channels_last(net, CUDA)
    assert not suits_channels_last(net, torch.device("mps"))


def test_the_fused_update_is_used_on_every_device_that_can_be_named():
    assert all(fuses_updates(torch.device(name)) for name in ("cpu", "cuda"))
    assert fuses_updates(torch.device("mps")) == (not torch.__version__.startswith("2.4."))
