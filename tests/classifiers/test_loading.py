"""Classifiers and extractors by name; what cannot be loaded is named."""

from __future__ import annotations

import pytest
import torch

from einstellung.classifiers import load_classifier, load_extractor
from einstellung.errors import InputError

from .tiny import write_net


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet", "no classifier 'resnet': give efficientnet-lite0"),
        ("{file}:nothing", "has no function 'nothing'"),
        ("{file}:wrong", "must return a torch.nn.Module and a dictionary"),
        ("{file}:unknown_key", "preprocessing has no 'crop'; it has size, resize"),
        ("{file}:headless", r"returns \(1, 3, 32, 32\) for one image: it must return one row of logits"),
        ("{file}:fails", "fails on an image of 3 x 32 x 32 .*fix the net, or its 'size'"),
        ("{file}x.py:net", "is not a file"),
    ],
)
def test_wrong_names_are_said(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        load_classifier(name.format(file=write_net(tmp_path)))


def test_a_net_without_a_linear_layer_classifies_and_has_no_last_layer_to_replace(tmp_path):
    name = f"{write_net(tmp_path)}:pooled"
    pooled = load_classifier(name)
    images = torch.stack([torch.full((3, 32, 32), round(255 * k / 4), dtype=torch.uint8) for k in range(5)])
    assert pooled.classes == 5
    assert pooled.logits(images).argmax(1).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="no linear layer"):
        load_extractor(name)


def test_a_last_layer_whose_output_is_changed_afterwards_is_not_the_last(tmp_path):
    with pytest.raises(InputError, match="its logits are not the output of its last linear layer"):
        load_extractor(f"{write_net(tmp_path)}:doubled")
