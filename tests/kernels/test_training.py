"""A whole net with the kernels learns what it learns without them."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones import build_backbone
from einstellung.kernels import accelerate

pytest.importorskip("numba")


def test_steps_of_training_agree() -> None:
    plain = build_backbone("resnet18", {"width": 16}, 10, seed=5).to(memory_format=torch.channels_last)
    nets = [plain, accelerate(copy.deepcopy(plain))]
    kinds = {type(layer).__name__ for layer in nets[1].modules()}
    assert {"NarrowConv2d", "WinogradConv2d", "FusedBatchNorm2d"} <= kinds
    draws = torch.Generator().manual_seed(5)
    images = torch.randn(16, 3, 16, 16, generator=draws)
    labels = torch.randint(10, (16,), generator=draws)
    losses = []
    for net in nets:
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        losses.append([])
        for _ in range(6):
            optimiser.zero_grad()
            loss = F.cross_entropy(net(images), labels)
            loss.backward()
            optimiser.step()
            losses[-1].append(float(loss))
    assert losses[0][-1] < 0.5 * losses[0][0]
    # a ReLU that rounding tips over changes a loss by up to a few percent here, as torch's own two layouts do
    assert losses[1][:2] == pytest.approx(losses[0][:2], rel=1e-3)
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    with torch.no_grad():
        first, second = (net.eval()(images) for net in nets)
    assert torch.equal(first.argmax(1), second.argmax(1))
