"""A user's net from a Python file, with its weights."""

from __future__ import annotations

import torch
from safetensors.torch import save_file

from einstellung.classifiers import load_classifier

from .tiny import write_net


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
