"""What ``training.kernels`` means, when kernels are compiled, and that nothing else knows the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import einstellung
from einstellung import kernels
from einstellung.errors import InputError
from einstellung.training import acceleration
from einstellung.training.acceleration import available, compile_kernels, load_kernels, resolve_kernels

PACKAGE = Path(einstellung.__file__).parent
CPU = torch.device("cpu")
NO_NUMBA = "which needs numba: pip install 'einstellung[fast]'"


def resolved(asked: str, precision: str = "fp32", device: torch.device = CPU, **others: object) -> str:
    return resolve_kernels(asked, precision, device, **{"compiles": False, "layout": "auto", **others})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "setting",
    [{"precision": "bf16"}, {"device": torch.device("meta")}, {"compiles": True}, {"layout": "contiguous"}],
)
def test_they_are_for_the_cpu_in_fp32_channels_last_without_compile(setting, monkeypatch):
    monkeypatch.setattr(kernels, "obstacle", lambda: None)
    assert resolved("auto") == resolved("own") == "own"
    assert resolved("torch") == "torch"
    assert resolved("auto", **setting) == resolved("torch", **setting) == "torch"
    with pytest.raises(InputError, match=r"training\.kernels is 'own', which needs the CPU, fp32 and channels last"):
        resolved("own", **setting)


def test_where_they_cannot_be_auto_means_torch_and_own_says_why(monkeypatch):
    monkeypatch.setattr(kernels, "obstacle", lambda: NO_NUMBA)
    monkeypatch.setattr(kernels, "load", lambda: pytest.fail("loaded"))
    assert not available()
    assert resolved("auto") == "torch"
    load_kernels()
    with pytest.raises(InputError, match=r"needs numba: pip install 'einstellung\[fast\]', or give 'auto'"):
        resolved("own")


def test_they_are_compiled_once_on_a_machine_with_a_message(monkeypatch, capsys):
    calls: list[str] = []
    monkeypatch.setattr(kernels, "load", lambda: calls.append("load"))
    monkeypatch.setattr(kernels, "is_compiled", lambda: True)
    compile_kernels()
    assert (calls, capsys.readouterr().err) == ([], "")
    monkeypatch.setattr(kernels, "is_compiled", lambda: False)
    compile_kernels()
    assert calls == ["load"]
    assert "compiling kernels (once per machine" in capsys.readouterr().err


def test_importing_the_preload_module_loads_them():
    pytest.importorskip("numba")
    code = (
        "from einstellung.kernels import compilation; import einstellung.training.acceleration; "
        "assert not compilation._loaded; import einstellung.training.preloaded_kernels; assert compilation._loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_other_file_mentions_the_package():
    """Neither in an import nor in a string; import-linter sees only the former."""
    own = [PACKAGE / "kernels", Path(acceleration.__file__)]
    folders = [PACKAGE, PACKAGE.parent / "benchmarks", PACKAGE.parent / "examples"]
    mentions = [
        str(file)
        for folder in folders
        for file in folder.rglob("*.py")
        if not any(file.is_relative_to(place) for place in own)
        and (
            "einstellung.kernels" in (text := file.read_text(encoding="utf-8")) or "einstellung import kernels" in text
        )
    ]
    assert mentions == []
