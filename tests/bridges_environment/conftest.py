"""Tests against the real frameworks, run by ``make test-bridges`` in an environment that has them.

Where Avalanche is not installed nothing of this folder is collected: the main suite is complete without it.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch
from torch import nn

from einstellung.bridges.installed import declare_torchvision_operators
from einstellung.cues import PatchCue
from einstellung.streams import Stream, shapes

collect_ignore_glob = [] if find_spec("avalanche") else ["test_*.py"]
declare_torchvision_operators()  # before any test imports something that imports torchvision


@pytest.fixture(scope="session")
def stream() -> Stream:
    return shapes(PatchCue(), size=12, train_per_class=6, test_per_class=2)


class Draws(nn.Module):
    """Changes nothing, and draws from the global generator in evaluation mode too."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + 0 * torch.rand_like(inputs)


@pytest.fixture
def tiny_net(stream):
    """A net with everything that measuring could disturb: batch statistics, dropout and random numbers."""

    def make() -> nn.Module:
        torch.manual_seed(7)
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Dropout(0.5),
            Draws(),
            nn.Flatten(),
            nn.Linear(8 * 5 * 5, stream.n_outputs),
        )

    return make
