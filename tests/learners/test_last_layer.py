"""The last layer of a net: found, replaced by several, and loaded from the weights of one."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from einstellung.backbones import ResNet18, VisionTransformer
from einstellung.errors import InputError
from einstellung.learners.last_layer import last_layer, put_in_place
from einstellung.learners.mitigation.heads import DomainHeads, Ensemble
from tests.learners.conftest import SmallNet


@pytest.mark.parametrize("kind", [DomainHeads, Ensemble])
@pytest.mark.parametrize("build", [lambda: ResNet18(5, width=4), lambda: VisionTransformer(5, dim=12, depth=1)])
def test_in_the_place_of_the_last_layer_nothing_changes_at_first(kind, build):
    """Neither what the net says, nor the names of what is not the last layer; the features are those of the net."""
    net, inputs = build().eval(), torch.randn(3, 3, 32, 32)
    said, features, names = net(inputs), net.features(inputs), set(net.state_dict())
    heads = put_in_place(net, 5, "di", lambda layer: kind(layer, 3))
    assert net.head is heads
    assert last_layer(net, "bgs") is heads
    torch.testing.assert_close(net(inputs), said)
    torch.testing.assert_close(heads.given_in(net, inputs), features)
    assert names <= set(net.state_dict())
    copy.deepcopy(net)  # nothing of the pass is left behind, which could not be copied


def test_a_layer_deep_within_is_replaced_where_it_is():
    net = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    heads = put_in_place(net, 2, "lle", lambda layer: Ensemble(layer, 2))
    assert net[1][1] is heads
    assert heads.weight.shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (
            nn.Sequential(nn.Conv2d(3, 2, 12), nn.Flatten()),
            "learners.di trains the last linear layer of a net, but this net has none",
        ),
        (nn.Sequential(nn.Linear(4, 3), nn.Conv1d(3, 2, 1)), "must have its 2 outputs; this net's is 0 with 3"),
        (nn.Linear(4, 2), "this net's is the whole net"),
    ],
)
def test_a_net_without_such_a_layer_is_refused(net, words):
    with pytest.raises(InputError, match=words):
        put_in_place(net, 2, "di", lambda layer: DomainHeads(layer, 2))


@pytest.mark.parametrize("kind", [DomainHeads, Ensemble])
def test_weights_of_one_layer_go_into_all(kind):
    """A method that starts anew is given a plain net's weights, whatever was put into its net."""
    torch.manual_seed(0)
    plain, net, inputs = SmallNet(2).eval(), SmallNet(2).eval(), torch.randn(4, 3, 12, 12)
    heads = put_in_place(net, 2, "di", lambda layer: kind(layer, 3))
    heads.know([0, 2])
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.normal_()
    net.load_state_dict(plain.state_dict())
    assert heads.known.tolist() == [True, False, True]
    torch.testing.assert_close(net(inputs), plain(inputs))
    again = SmallNet(2)
    put_in_place(again, 2, "di", lambda layer: kind(layer, 3))
    again.load_state_dict(net.state_dict())  # and its own state, names and known ones
    assert all(torch.equal(a, b) for a, b in zip(again.state_dict().values(), net.state_dict().values(), strict=True))


def test_a_layer_without_a_bias_has_one_of_zeros():
    net = nn.Sequential(nn.Linear(4, 2, bias=False))
    heads = put_in_place(net, 2, "di", lambda layer: DomainHeads(layer, 2))
    assert not heads.bias.any()
    net.load_state_dict({"0.weight": torch.ones(2, 4)})
    assert heads.weight.unique().tolist() == [1]
