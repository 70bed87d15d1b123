"""Several batches in one pass are what they are one after the other: outputs, gradients, running statistics."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from einstellung.backbones import build_backbone
from einstellung.kernels import accelerate
from einstellung.kernels.lots import goes_in_lots, in_lots, outputs_apart, sizes_now

pytest.importorskip("numba")
SIZES = (5, 3, 8)


def narrow(kernels: bool = True) -> nn.Module:
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
    ours, theirs = outputs_apart(at_once, parts), [in_turn(part) for part in parts]
    assert len(calls) == 1
    assert [len(out) for out in ours] == list(SIZES)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    found, expected = gradients(at_once, ours), gradients(in_turn, theirs)
    for name, gradient in expected.items():
        assert (found[name] - gradient).abs().max() < 2e-3 * gradient.abs().max(), name
    for name, value in in_turn.state_dict().items():
        torch.testing.assert_close(at_once.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    assert int(at_once.bn1.num_batches_tracked) == len(SIZES)  # type: ignore[union-attr,arg-type]
    together = narrow()(torch.cat(parts)).split(SIZES)
    assert (together[0] - theirs[0]).abs().max() > 0.05  # statistics of all are others


def test_in_evaluation_there_are_no_lots() -> None:
    net, parts = narrow(), drawn()
    outputs_apart(net, parts)
    net.eval()
    with torch.no_grad():
        for one, part in zip(outputs_apart(net, parts), parts, strict=True):
            torch.testing.assert_close(one, net(part), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [lambda: narrow(kernels=False), lambda: nn.Sequential(narrow(), nn.Identity())])
def test_nets_that_cannot_are_gone_through_in_turn(make) -> None:
    net, parts = make(), drawn()
    other = copy.deepcopy(net)
    calls = []
    net.register_forward_hook(lambda *_: calls.append(1))
    assert not goes_in_lots(net)
    for one, part in zip(outputs_apart(net, parts), parts, strict=True):
        assert torch.equal(one, other(part))
    assert len(calls) == len(parts)


def test_a_norm_that_somebody_listens_to_keeps_the_lots_apart() -> None:
    at_once, in_turn = narrow(), narrow()
    heard = []
    at_once.blocks[0].bn1.register_forward_hook(lambda *_: heard.append(1))  # type: ignore[index,union-attr]
    parts = drawn()
    for one, part in zip(outputs_apart(at_once, parts), parts, strict=True):
        torch.testing.assert_close(one, in_turn(part), rtol=1e-3, atol=1e-4)
    assert heard == [1]


def test_a_lot_of_one_value_is_torchs_to_refuse() -> None:
    net = narrow()
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        outputs_apart(net, [torch.randn(4, 3, 8, 8), torch.randn(1, 3, 8, 8)])
    assert sizes_now() == ()


def test_what_is_said_of_lots_ends_with_them() -> None:
    with in_lots((2, 3)), in_lots((1, 4)):
        assert sizes_now() == (1, 4)
    assert sizes_now() == ()


@pytest.mark.parametrize("sizes", [(4, 4), (1, 1)])
def test_lots_of_another_batch_are_refused(sizes: tuple[int, int]) -> None:
    net = narrow()
    with in_lots(sizes), pytest.raises(RuntimeError, match="split_with_sizes"):
        net(torch.randn(3, 3, 16, 16))


def test_a_subclass_says_for_itself_whether_it_goes_in_lots() -> None:
    net = narrow()
    assert goes_in_lots(net)
    net.__class__ = type("Mixing", (type(net),), {})
    assert not goes_in_lots(net)
