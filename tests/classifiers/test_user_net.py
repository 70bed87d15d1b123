"""A user's net from a Python file, with its weights."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from einstellung.classifiers import load_classifier
from einstellung.errors import InputError

from .tiny import write_net

NET = """
import torch
class Net(torch.nn.Module):
    def forward(self, images):
        {}
def mine():
    return Net(), {{"size": 8, "mean": [0.5] * 3, "std": [0.5] * 3}}
"""


def test_a_users_net_gives_its_logits(tmp_path):
    mine = load_classifier(f"{write_net(tmp_path)}:net")
    assert (mine.size, mine.classes) == (32, 5)
    images = torch.stack([torch.full((3, 32, 32), round(255 * k / 4), dtype=torch.uint8) for k in range(5)])
    assert mine.logits(images).argmax(1).tolist() == [0, 1, 2, 3, 4]


def test_stored_weights_fill_the_net_and_make_it_another_one(tmp_path):
    file = write_net(tmp_path)
    turned = {"head.weight": torch.zeros(5, 2), "head.bias": torch.tensor([0.0, 0, 0, 9, 0])}
    save_file(turned, tmp_path / "stored.safetensors")
    stored = load_classifier(f"{file}:stored")
    assert stored.logits(torch.zeros(2, 3, 32, 32, dtype=torch.uint8)).argmax(1).tolist() == [3, 3]
    assert stored.digest != load_classifier(f"{file}:net").digest
    assert stored.digest == load_classifier(f"{file}:stored").digest


def test_another_file_is_another_classifier_though_the_weights_are_the_same(tmp_path):
    """What forward does stands in the file: doubled has net's weights and other logits."""
    file = write_net(tmp_path)
    before = load_classifier(f"{file}:net")
    file.write_text(file.read_text().replace("x.mean((1, 2, 3))", "1 - x.mean((1, 2, 3))"))
    after = load_classifier(f"{file}:net")
    assert torch.equal(before.net.head.weight, after.net.head.weight)
    assert before.digest != after.digest
    assert after.digest == load_classifier(f"{file}:net").digest


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import sys\ndef mine():\n    sys.exit(0)\n", r"fails \(SystemExit: 0\): fix the file"),
        ("import sys\nsys.exit('bye')\n", r"fails \(SystemExit: bye\): fix the file"),
        ("def mine(:\n", r"fails \(SyntaxError: "),
        ("x = 1\x00\n", "fails"),
        ("x = " + "(" * 10_000, "fails"),
        ("def mine():\n    raise ValueError\n", r"fails \(ValueError\): fix the file"),
        (NET.format("import sys; sys.exit(0)"), r"fails on an image of 3 x 8 x 8 \(SystemExit: 0\)"),
        (NET.format("raise AttributeError('no')"), r"fails on an image of 3 x 8 x 8 \(AttributeError: no\)"),
    ],
)
def test_a_file_that_does_anything_else_is_one_line(tmp_path, source, words):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(InputError, match=words) as caught:
        load_classifier(f"{path}:mine")
    assert len(str(caught.value)) < 290
