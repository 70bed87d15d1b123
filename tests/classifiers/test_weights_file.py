"""Wrong weights are refused, and loading them executes nothing."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from einstellung.classifiers import load_classifier
from einstellung.errors import InputError

from .tiny import write_net


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"head.weight": torch.zeros(5, 2)}, "lacks 'head.bias'"),
        ({"head.weight": torch.zeros(5, 3), "head.bias": torch.zeros(5)}, r"'head.weight' is \(5, 3\).*\(5, 2\)"),
        (
            {"head.weight": torch.zeros(5, 2), "head.bias": torch.zeros(5), "z": torch.zeros(1)},
            "has 'z', which the net lacks",
        ),
        (None, "cannot be read as weights"),
    ],
)
def test_wrong_weights_are_refused(tmp_path, content, message):
    file, weights = write_net(tmp_path), tmp_path / "stored.safetensors"
    weights.write_bytes(b"nothing") if content is None else save_file(content, weights)
    with pytest.raises(InputError, match=message):
        load_classifier(f"{file}:stored")


def test_a_pickle_that_would_run_code_is_not_run(tmp_path):
    class Runs:
        def __reduce__(self):
            return (open, (str(tmp_path / "was run"), "w"))

    file = write_net(tmp_path)
    file.write_text(file.read_text().replace("stored.safetensors", "stored.pt"))
    torch.save({"head.weight": Runs()}, tmp_path / "stored.pt")
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_classifier(f"{file}:stored")
    assert not (tmp_path / "was run").exists()
