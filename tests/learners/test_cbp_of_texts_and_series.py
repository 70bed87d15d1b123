"""Units of one-dimensional convolutions and of texts: utility, replacement and what comes after it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.learners.cbp import CBPOptions, Units
from einstellung.learners.hidden_units import hidden_units
from tests.learners.token_nets import texts


def tried(name: str) -> tuple[nn.Module, torch.Tensor, list[Units]]:
    if name == "resnet1d":
        net = build_backbone(name, {"width": 4}, 5, 1)
        inputs = torch.randn(6, 1, 20, generator=torch.Generator().manual_seed(0))
        found = hidden_units(net, net.state_dict(), (1, 20))
    else:
        net = build_backbone(name, {"vocabulary": 60, "dim": 8}, 5, 1)
        inputs = texts(60)
        found = hidden_units(net, net.state_dict(), (9,), tokens=60)
    return net.eval(), inputs, [Units.of(net, one) for one in found]


@pytest.mark.parametrize("name", ["resnet1d", "embedding_bag", "text_transformer"])
def test_utility_is_mean_size_times_what_leaves_a_unit(name):
    net, inputs, layers = tried(name)
    for units in layers:
        seen: list[torch.Tensor] = []
        handles = [
            units.consumer.register_forward_pre_hook(units.look),
            units.consumer.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[0])),
        ]
        net(inputs)
        for handle in handles:
            handle.remove()
        units.update_utility(0.9)
        given = seen[0].detach()
        for unit in range(len(units.utility)):
            theirs = given[:, unit] if isinstance(units.consumer, nn.Conv1d) else given[..., unit]
            expected = 0.1 * float(theirs.abs().mean()) * float(units.consumer.weight[:, unit].detach().abs().sum())
            assert float(units.utility[unit].detach()) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["resnet1d", "embedding_bag", "text_transformer"])
def test_a_new_unit_changes_only_what_depended_on_it(name):
    """Its outgoing weights are 0: the net computes what it would compute without the unit."""
    net, inputs, layers = tried(name)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(inputs).square().sum().backward()
    optimiser.step()
    for units in layers:
        places, chosen = torch.tensor([1, 2]), torch.tensor([True, False])
        with torch.no_grad():
            units.consumer.weight[:, 1] = 0
        without = net(inputs).detach()
        kept = units.producer.weight[2].detach().clone()
        with torch.no_grad():
            units.replace(places, chosen, torch.ones(2, *units.producer.weight.shape[1:]), optimiser)
        assert torch.allclose(net(inputs), without, atol=1e-5)
        assert bool((units.producer.weight[1] == 1).all())
        assert torch.equal(units.producer.weight[2], kept)
        assert not optimiser.state[units.producer.weight]["momentum_buffer"][1].any()
        assert not optimiser.state[units.consumer.weight]["momentum_buffer"][:, 1].any()


def test_the_least_useful_mature_units_are_due():
    _, _, (units, *_) = tried("resnet1d")
    units.age += 5
    units.utility.copy_(torch.tensor([3.0, 1.0, 2.0, 4.0]))
    places, chosen = units.least_useful(2, CBPOptions(replacement=0.25, maturity=3, decay=0.9))
    assert places.tolist() == [1, 2]
    assert chosen.tolist() == [True, False]
