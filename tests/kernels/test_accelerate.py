"""A whole net with the kernels learns what it learns without them; only the classes of its modules change."""

from __future__ import annotations

import copy
from collections.abc import Collection

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.backbones.layers import reference_class
from einstellung.backbones.resnet import BasicBlock
from einstellung.kernels import PARTS, accelerate

pytest.importorskip("numba")


def narrow(parts: Collection[str]) -> nn.Module:
    net = build_backbone("resnet18", {"width": 8}, 6, seed=3).to(memory_format=torch.channels_last)
    return accelerate(net, parts)


@pytest.mark.parametrize(
    ("parts", "swapped"),
    [
        ((), set()),
        (("convolutions",), {"NarrowConv2d", "WinogradConv2d"}),
        (
            ("convolutions", "norms"),
            {"NarrowConv2d", "WinogradConv2d", "FusedBatchNorm2d", "NormFusedBlock", "FusedResNet18"},
        ),
        (PARTS, {"NarrowConv2d", "WinogradConv2d", "FusedBatchNorm2d", "FusedBlock", "FusedResNet18"}),
    ],
)
def test_parts_change_classes_and_nothing_else(parts: Collection[str], swapped: set[str]) -> None:
    plain, net = narrow(()), narrow(parts)
    pairs = list(zip(plain.named_modules(), net.named_modules(), strict=True))
    assert {type(ours).__name__ for (_, theirs), (_, ours) in pairs if type(ours) is not type(theirs)} == swapped
    assert all(name == other for (name, _), (other, _) in pairs)
    assert all(reference_class(type(ours)) is type(theirs) for (_, theirs), (_, ours) in pairs)
    assert all(torch.equal(value, net.state_dict()[name]) for name, value in plain.state_dict().items())


def test_a_block_of_somebody_elses_is_left_alone() -> None:
    class Other(BasicBlock):
        pass

    block = accelerate(Other(8, 8, 1))
    assert type(block) is Other
    assert type(block.bn1).__name__ == "FusedBatchNorm2d"


def test_hooks_of_a_block_and_of_the_net_are_called_as_before() -> None:
    net, calls = narrow(()), []
    net.blocks[0].register_forward_hook(lambda *_: calls.append("block"))  # type: ignore[index,union-attr]
    net.register_forward_hook(lambda *_: calls.append("net"))
    accelerate(net)(torch.randn(2, 3, 16, 16))
    assert calls == ["block", "net"]


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
