"""Which units of a net reach the result through one other layer alone, on nets where that can be read off."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from einstellung.backbones import build_backbone
from einstellung.learners.hidden_units import HiddenUnits, hidden_units


def found(net: nn.Module, shape: tuple[int, ...]) -> list[tuple[str, str | None, str]]:
    return [(one.producer, one.norm, one.consumer) for one in hidden_units(net, net.state_dict(), shape)]


def test_of_a_resnet_the_first_layer_of_every_block():
    net = build_backbone("resnet18", {"width": 8}, 6, 1)
    expected = [(f"blocks.{k}.conv1", f"blocks.{k}.bn1", f"blocks.{k}.conv2") for k in range(8)]
    assert found(net, (3, 16, 16)) == expected


def test_of_a_transformer_the_hidden_layers_of_its_perceptrons():
    net = build_backbone("vit", {"dim": 12, "depth": 2, "image": 8}, 6, 1)
    assert found(net, (3, 8, 8)) == [(f"blocks.{k}.mlp.fc1", None, f"blocks.{k}.mlp.fc2") for k in range(2)]


def test_of_a_perceptron_every_hidden_layer_and_of_a_linear_net_none():
    perceptron = build_backbone("mlp", {"inputs": 5, "hidden": 7, "layers": 2}, 3, 1)
    assert found(perceptron, (5, 1, 1)) == [("body.0.0", None, "body.1.0"), ("body.1.0", None, "head")]
    assert found(build_backbone("linear", {"inputs": 5}, 3, 1), (5, 1, 1)) == []


class Wired(nn.Module):
    """One hidden layer, and something that spoils it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.first, self.other, self.last = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        hidden = self.first(x).relu()
        if self.how == "sum":
            return self.last(hidden + self.other(x))
        if self.how == "mixed":
            return self.last(hidden.softmax(dim=1))
        if self.how == "turned":
            return self.last(hidden.flip(1))
        if self.how == "shortcut":
            return self.last(hidden) + hidden.mean(dim=1, keepdim=True)
        return self.last(hidden)


@pytest.mark.parametrize("how", ["sum", "mixed", "turned", "shortcut", "plain"])
def test_units_with_another_way_out_or_another_way_in_are_none(how):
    torch.manual_seed(0)
    units = found(Wired(how), (1, 2, 2))
    assert units == ([("first", None, "last")] if how == "plain" else [])


def test_the_net_stays_as_it_is(stream):
    net = build_backbone("resnet18", {"width": 8}, 6, 1).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    units = hidden_units(net, net.state_dict(), (3, 12, 12))
    assert isinstance(units[0], HiddenUnits)
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in net.modules())


def test_of_texts_the_hidden_layers_of_perceptrons():
    bag = build_backbone("embedding_bag", {"vocabulary": 60, "dim": 6, "hidden": 7, "layers": 2}, 5, 1)
    units = hidden_units(bag, bag.state_dict(), (9,), tokens=60)
    assert [(one.producer, one.consumer) for one in units] == [("body.0.0", "body.1.0"), ("body.1.0", "head")]
    for name, options in (("text_transformer", {"length": 9}), ("minilm", {"length": 11, "hidden": 12})):
        net = build_backbone(name, {"vocabulary": 150, "dim": 8, "depth": 2, "heads": 2} | options, 5, 1)
        units = hidden_units(net, net.state_dict(), (9,), tokens=150)
        assert [(one.producer, one.consumer) for one in units] == [
            (f"blocks.{k}.fc1", f"blocks.{k}.fc2") for k in (0, 1)
        ]


def test_of_series_the_first_layer_of_every_block():
    net = build_backbone("resnet1d", {"width": 4}, 5, 1)
    expected = [(f"blocks.{k}.conv1", f"blocks.{k}.bn1", f"blocks.{k}.conv2") for k in range(6)]
    assert found(net, (1, 20)) == expected
