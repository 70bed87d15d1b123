"""Continual backpropagation: the paper's algorithm 1 unit by unit, with plain numbers."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.errors import InputError
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator


def begun(make, stream, **options):
    learner = make("cbp", **options)
    learner.begin_phase(stream.phases[0])
    learner.begin_epoch(stream.phases[0], 1)
    learner.training_mode()
    return learner


def given_to_the_head(net, inputs):
    return net.bn(net.conv(inputs)).relu().mean(dim=(2, 3))


def test_ten_steps_are_algorithm_1_written_out(make, batch_of, stream):
    """Utilities, ages and accounts as lists; a unit is due when the account holds a whole one."""
    rate, maturity, decay = 0.15, 3, 0.9
    learner = begun(make, stream, replacement=rate, maturity=maturity, decay=decay)
    twin, draws = copy.deepcopy(learner.net), generator(learner.context.seed, "cbp", "T1", 1)
    optimiser = torch.optim.SGD(twin.parameters(), lr=0.1)
    utility, age, account, replaced = [0.0] * 4, [0] * 4, 0.0, []
    for step in range(10):
        batch = batch_of(stream.phases[0], range(4 * step, 4 * step + 8))
        twin.train()
        with torch.no_grad():
            sizes = given_to_the_head(copy.deepcopy(twin), batch.inputs).abs().mean(dim=0).tolist()
        optimiser.zero_grad()
        F.cross_entropy(twin(batch.inputs), batch.labels).backward()
        optimiser.step()
        leaving = twin.head.weight.detach().abs().sum(dim=0).tolist()
        fresh = torch.rand(1, 3, 3, 3, generator=draws)
        for unit in range(4):
            age[unit] += 1
            utility[unit] = decay * utility[unit] + (1 - decay) * sizes[unit] * leaving[unit]
        mature = [unit for unit in range(4) if age[unit] > maturity]
        account += rate * len(mature)
        if account >= 1 - 1e-6 and mature:
            worst = min(mature, key=lambda unit: utility[unit] / (1 - decay ** age[unit]))
            bound = math.sqrt(6 / 27)
            with torch.no_grad():
                twin.conv.weight[worst] = fresh[0] * 2 * bound - bound
                twin.conv.bias[worst] = 0
                twin.head.weight[:, worst] = 0
                for values, start in ((twin.bn.weight, 1), (twin.bn.bias, 0)):
                    values[worst] = start
                twin.bn.running_mean[worst], twin.bn.running_var[worst] = 0, 1
            utility[worst], age[worst] = 0.0, 0
            account -= 1
            replaced.append((step, worst))
        learner.observe(batch)
        units = learner.layers["conv"]
        assert units.age.tolist() == age
        assert units.utility.tolist() == pytest.approx(utility, rel=1e-4)
        assert float(units.account) == pytest.approx(account, abs=1e-5)
        for (name, ours), theirs in zip(learner.net.state_dict().items(), twin.state_dict().values(), strict=True):
            assert torch.allclose(ours, theirs, atol=1e-6), (step, name)
    assert len(replaced) >= 2


def test_without_replacement_it_is_plain_fine_tuning(make, through):
    losses, values = through(make("cbp", replacement=0.0))
    plain_losses, plain_values = through(make("sgd"))
    assert losses == plain_losses
    assert all(torch.equal(mine, plain) for mine, plain in zip(values, plain_values, strict=True))


def test_a_new_unit_changes_no_output_and_forgets_its_momentum(make, batch_of, stream):
    learner = begun(make, stream, replacement=0.25, maturity=0)
    optimiser = learner.optimiser = torch.optim.Adam(learner.net.parameters(), lr=0.01)
    batch = batch_of(stream.phases[0], range(8))
    learner.observe(batch)
    (unit,) = (learner.layers["conv"].age == 0).nonzero().flatten().tolist()
    net, others = learner.net, [k for k in range(4) if k != unit]
    for parameter in (net.conv.weight, net.conv.bias, net.bn.weight, net.bn.bias):
        for key in ("exp_avg", "exp_avg_sq"):
            assert not optimiser.state[parameter][key][unit].any()
    assert optimiser.state[net.conv.weight]["exp_avg"][others].any()
    assert not optimiser.state[net.head.weight]["exp_avg"][:, unit].any()
    assert optimiser.state[net.head.weight]["exp_avg"][:, others].any()
    net.eval()
    with torch.no_grad():
        before = net(batch.inputs)
        net.conv.weight[unit] *= 5
        assert torch.allclose(net(batch.inputs), before)


def test_the_share_of_replaced_units_is_the_rate(make, batch_of, stream):
    """After maturity, rate times units times steps of them, all layers by themselves."""
    learner = begun(make, stream, replacement=0.02, maturity=5)
    ages, born = learner.layers["conv"].age, 0
    for step in range(60):
        start = 4 * (step % 10)
        learner.observe(batch_of(stream.phases[0], range(start, start + 8)))
        born += int((ages == 0).sum())
    assert 3 <= born <= 0.02 * 4 * 55
    assert not any(layer._forward_pre_hooks for layer in learner.net.modules())


def test_what_is_refused(make, monkeypatch):
    for key, value in (("replacement", 1.5), ("decay", 1.0), ("maturity", -1)):
        with pytest.raises(InputError, match=rf"learners\.cbp\.{key} is {value}"):
            learner_options("cbp", {key: value})

    class Linear(nn.Module):
        def __init__(self, n_outputs: int) -> None:
            super().__init__()
            self.head = nn.Linear(3 * 12 * 12, n_outputs)

        def forward(self, x):
            return self.head(x.flatten(1))

    monkeypatch.setattr("tests.learners.conftest.SmallNet", Linear)
    with pytest.raises(InputError, match="this net has none"):
        make("cbp")
