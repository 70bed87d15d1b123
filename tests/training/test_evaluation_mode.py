"""Evaluation leaves a model and all generators exactly as they were."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from einstellung.training.evaluation_mode import device_of, evaluation_mode, module_of


def draws(loader):
    """The next random number of every source."""
    return float(torch.rand(())), float(np.random.rand()), random.random(), torch.cat([x for (x,) in loader]).tolist()


def test_modes_and_random_states_are_restored():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.BatchNorm1d(2))
    net[2].eval()  # a frozen layer in a net that trains
    loader = DataLoader(TensorDataset(torch.arange(8)), shuffle=True, generator=torch.Generator().manual_seed(3))

    def seeded():
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        loader.generator.manual_seed(3)

    seeded()
    expected = draws(loader)
    seeded()
    with evaluation_mode(net, [loader]):
        assert not any(module.training for module in net.modules())
        assert not net(torch.randn(4, 2)).requires_grad
        draws(loader)
    assert [module.training for module in net.modules()] == [True, True, True, False]
    assert draws(loader) == expected


def test_they_are_restored_after_an_error():
    net = nn.Dropout()
    with pytest.raises(ValueError, match="stop"), evaluation_mode(net):
        raise ValueError("stop")
    assert net.training


def test_the_module_behind_a_model():
    net = nn.Linear(2, 2)
    assert module_of(net) is module_of(net.forward) is net
    assert module_of(len) is None
    assert device_of(net) == torch.device("cpu")
    assert device_of(len) is None
