"""Several batches in one pass through our ResNet-18 give what they give one by one: outputs, gradients, running statistics."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from einstellung.backbones import build_backbone
from einstellung.kernels import accelerate
from einstellung.kernels.multi_batch import batch_sizes, separate_batches
from einstellung.kernels.resnet import supports_separate_batches

pytest.importorskip("numba")
SIZES = (5, 3, 8)


def narrow(kernels: bool = True) -> Any:
    net = build_backbone("resnet18", {"width": 8}, 6, seed=3).to(memory_format=torch.channels_last)
    return accelerate(net) if kernels else net


def drawn(sizes: Sequence[int] = SIZES) -> list[Tensor]:
    """Batches that differ in mean and spread, so that statistics of all together would be others."""
    draws = torch.Generator().manual_seed(1)
    return [
        (number + 1) * torch.randn(size, 3, 16, 16, generator=draws) + 2 * number for number, size in enumerate(sizes)
    ]


def gradients(net: nn.Module, outputs: Sequence[Tensor]) -> dict[str, Tensor]:
    loss = sum((place + 1) * out.square().mean() for place, out in enumerate(outputs))
    names, values = zip(*net.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, values), strict=True))


def test_one_pass_is_several() -> None:
    at_once, in_turn = narrow(), narrow()
    calls = []
    at_once.register_forward_hook(lambda *_: calls.append(1))
    parts = drawn()
    ours, theirs = at_once.forward_batches(parts), [in_turn(part) for part in parts]
    assert len(calls) == 1
    assert [len(out) for out in ours] == list(SIZES)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    found, expected = gradients(at_once, ours), gradients(in_turn, theirs)
    for name, gradient in expected.items():
        assert (found[name] - gradient).abs().max() < 2e-3 * gradient.abs().max(), name
    for name, value in in_turn.state_dict().items():
        torch.testing.assert_close(at_once.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    assert int(at_once.bn1.num_batches_tracked) == len(SIZES)
    together = narrow()(torch.cat(parts)).split(SIZES)
    assert (together[0] - theirs[0]).abs().max() > 0.05  # statistics of all are others


def test_in_evaluation_batches_have_no_statistics() -> None:
    net, parts = narrow(), drawn()
    net.forward_batches(parts)
    net.eval()
    with torch.no_grad():
        for one, part in zip(net.forward_batches(parts), parts, strict=True):
            torch.testing.assert_close(one, net(part), rtol=1e-4, atol=1e-5)


def without_our_kernels(net: Any) -> None:
    net.blocks[3].bn2.__class__ = nn.BatchNorm2d


def of_a_subclass(net: Any) -> None:
    net.__class__ = type("Mixing", (type(net),), {})


@pytest.mark.parametrize("change", [without_our_kernels, of_a_subclass])
def test_nets_that_may_mix_images_take_one_batch_at_a_time(change) -> None:
    net, parts = narrow(), drawn()
    assert supports_separate_batches(net)
    change(net)
    assert not supports_separate_batches(net)
    other = copy.deepcopy(net)
    calls = []
    net.register_forward_hook(lambda *_: calls.append(1))
    for one, part in zip(net.forward_batches(parts), parts, strict=True):
        assert torch.equal(one, other(part))
    assert len(calls) == len(parts)


def test_only_our_accelerated_net_offers_several_batches_in_one_pass() -> None:
    assert not hasattr(narrow(kernels=False), "forward_batches")
    assert not hasattr(nn.Sequential(narrow(), nn.Identity()), "forward_batches")


def test_a_norm_with_hooks_keeps_the_batches_apart() -> None:
    at_once, in_turn = narrow(), narrow()
    recorded = []
    at_once.blocks[0].bn1.register_forward_hook(lambda *_: recorded.append(1))
    parts = drawn()
    for one, part in zip(at_once.forward_batches(parts), parts, strict=True):
        torch.testing.assert_close(one, in_turn(part), rtol=1e-3, atol=1e-4)
    assert recorded == [1]


def test_a_batch_of_one_value_is_torchs_to_refuse() -> None:
    net = narrow()
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        net.forward_batches([torch.randn(4, 3, 8, 8), torch.randn(1, 3, 8, 8)])
    assert batch_sizes() == ()


@pytest.mark.parametrize("sizes", [(4, 4), (1, 1)])
def test_sizes_of_another_batch_are_refused(sizes: tuple[int, int]) -> None:
    net = narrow()
    with separate_batches(sizes), pytest.raises(RuntimeError, match="split_with_sizes"):
        net(torch.randn(3, 3, 16, 16))
