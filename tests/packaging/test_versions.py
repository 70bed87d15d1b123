"""The oldest supported torch and Python, checked without having them installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest

from .contents import ROOT
from .torch_names import RECORD, missing_from, release, used_in, used_names

MINIMUM = release(
    next(
        re.fullmatch(r"torch>=(\S+)", one)[1]
        for one in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
        if one.startswith("torch")
    )
)
VERIFIED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_every_name_of_torch_was_found_in_a_real_release():
    """Failing? Run ``python -m tests.packaging.torch_names`` with the oldest supported torch, then with newer ones."""
    assert used_names().keys() - VERIFIED.keys() == set()
    assert VERIFIED.keys() - used_names().keys() == set()


def test_names_that_the_oldest_release_lacks_have_a_fallback():
    later = {name for name, found in VERIFIED.items() if release(found)[:2] > MINIMUM[:2]}
    assert later == {"torch.compiler.set_stance"}
    assert {file for name in later for file in used_names()[name]} == {"einstellung/torch_compat.py"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import torch\ntorch.compiler.set_stance('x')", {"torch.compiler.set_stance"}),
        ("import torch.nn.functional as F\nF.relu(x)", {"torch.nn.functional.relu"}),
        ("from torch import Tensor, nn\nnn.Linear(1, 2).weight.data", {"torch.Tensor", "torch.nn.Linear"}),
        ("from torch.utils.data import DataLoader as L\nL(d)", {"torch.utils.data.DataLoader"}),
        ("import numpy\nnumpy.torch.x", set()),
        ("def f():\n    import torch\n    return torch.float32.itemsize", {"torch.float32.itemsize"}),
    ],
)
def test_names_are_read_from_code(code, names):
    assert used_in(code) >= names
    assert all(name.startswith("torch.") for name in used_in(code))
    assert bool(names) == bool(used_in(code))


def test_a_name_that_torch_lacks_is_found():
    assert missing_from({"torch.nn.Linear", "torch.nn.no_such_layer", "torch.no_such.thing"}) == {
        "torch.nn.no_such_layer",
        "torch.no_such.thing",
    }


def test_the_constraints_agree_with_each_other():
    """torchvision 0.N belongs to torch 2.(N - 15)."""
    torch = re.search(r"^torch==2\.(\d+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    bridges = (ROOT / "tests/bridges_environment/requirements.txt").read_text(encoding="utf-8")
    assert int(re.search(r"^torchvision==0\.(\d+)", bridges, re.MULTILINE)[1]) == int(torch[1]) + 15


def test_the_code_runs_on_the_oldest_python():
    pytest.importorskip("vermin")
    call = "import sys, vermin; sys.exit(vermin.main())"
    given = (
        "--no-tips",
        "--no-parse-comments",
        "--exclude",
        "long",
        "--violations",
        "-t=3.11-",
        "einstellung",
    )  # Tensor.long
    done = subprocess.run([sys.executable, "-c", call, *given], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
