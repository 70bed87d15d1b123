"""Batch norm, addition and ReLU in one step against torch's three in double precision."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.kernels import accelerate
from einstellung.kernels.batch_norm import FusedBatchNorm2d, norm_relu, suits_fusion

pytest.importorskip("numba")


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return values.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else values


def fused(channels: int) -> nn.BatchNorm2d:
    layer = nn.BatchNorm2d(channels)
    with torch.no_grad():
        layer.weight.copy_(1 + 0.3 * draw(channels, seed=5))
        layer.bias.copy_(0.5 * draw(channels, seed=6))
        assert layer.running_mean is not None
        layer.running_mean.copy_(draw(channels, seed=7))
    accelerate(layer)
    assert isinstance(layer, FusedBatchNorm2d)
    return layer


SHAPES = [(4, 8, 6, 6), (2, 16, 5, 5), (3, 24, 4, 4), (2, 64, 4, 4), (2, 96, 3, 3), (5, 10, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("adds", [True, False])
def test_one_step_is_three(shape: tuple[int, int, int, int], training: bool, adds: bool) -> None:
    ours = fused(shape[1]).train(training)
    exact = copy.deepcopy(ours).double()
    x = (2 * draw(*shape) + 3).requires_grad_()
    other = draw(*shape, seed=1).requires_grad_() if adds else None
    upstream = draw(*shape, seed=2)
    out = norm_relu(ours, x, other)
    assert type(out.grad_fn).__name__ == "_NormReLUBackward"
    inputs = [value for value in (x, other, ours.weight, ours.bias) if value is not None]
    found = torch.autograd.grad(out, inputs, upstream)

    wide_x = x.detach().double().requires_grad_()
    wide_other = None if other is None else other.detach().double().requires_grad_()
    normed = nn.BatchNorm2d.forward(exact, wide_x)
    reference = F.relu(normed if wide_other is None else normed + wide_other)
    wide = [value for value in (wide_x, wide_other, exact.weight, exact.bias) if value is not None]
    expected = torch.autograd.grad(reference, wide, upstream.double())
    assert torch.allclose(out.double(), reference, atol=2e-5)
    for one, two in zip(found, expected, strict=True):
        assert torch.allclose(one.double(), two, atol=1e-4, rtol=1e-4)
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert torch.allclose(getattr(ours, name).double(), getattr(exact, name).double(), rtol=1e-5, atol=1e-6), name


def test_a_large_mean_does_not_eat_the_variance() -> None:
    x = (1e3 + draw(8, 16, 8, 8)).contiguous(memory_format=torch.channels_last)
    ours = fused(16)
    wide = copy.deepcopy(ours).double()
    assert torch.allclose(norm_relu(ours, x).double(), F.relu(nn.BatchNorm2d.forward(wide, x.double())), atol=1e-3)


@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_weights_get_no_gradient(frozen: bool) -> None:
    ours = fused(16).eval().requires_grad_(not frozen)
    x = draw(2, 16, 4, 4).requires_grad_()
    norm_relu(ours, x).sum().backward()
    assert x.grad is not None
    assert (ours.weight.grad is None) == frozen


def test_hooks_of_the_layer_are_called() -> None:
    ours = fused(16)
    recorded: list[Tensor] = []
    handle = ours.register_forward_hook(lambda _, inputs, output: recorded.append(output))
    x = draw(2, 16, 4, 4)
    with_hook = norm_relu(ours, x)
    assert len(recorded) == 1
    handle.remove()
    assert torch.allclose(norm_relu(fused(16), x), with_hook, atol=1e-5)


def test_global_hooks_and_a_replaced_forward_are_called() -> None:
    ours, x = fused(16), draw(2, 16, 4, 4)
    recorded: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_hook(lambda layer, *_: recorded.append(layer))
    try:
        norm_relu(ours, x)
    finally:
        handle.remove()
    assert recorded == [ours]
    ours.forward = lambda x: x + 1  # type: ignore[method-assign]
    assert torch.equal(norm_relu(ours, x), F.relu(x + 1))


def without_statistics(norm: nn.BatchNorm2d) -> None:
    norm.running_mean = norm.running_var = norm.num_batches_tracked = None


def untracked(norm: nn.BatchNorm2d) -> None:
    norm.track_running_stats = False


def of_all_batches(norm: nn.BatchNorm2d) -> None:
    norm.momentum = None  # as torch.optim.swa_utils.update_bn does for a while


def without_weights(norm: nn.BatchNorm2d) -> None:
    norm.weight = norm.bias = None  # type: ignore[assignment]


def strided(norm: nn.BatchNorm2d) -> None:
    norm.weight = nn.Parameter(draw(32)[::2])


def uncounted(norm: nn.BatchNorm2d) -> None:
    norm.num_batches_tracked = None


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("change", [without_statistics, untracked, of_all_batches, without_weights, strided, uncounted])
def test_a_norm_that_was_changed_later_computes_what_torch_would(change, training: bool) -> None:
    ours = fused(16).train(training)
    change(ours)
    twin = copy.deepcopy(ours)
    x = draw(3, 16, 4, 4)
    assert torch.allclose(norm_relu(ours, x), F.relu(nn.BatchNorm2d.forward(twin, x)), atol=1e-5)
    for name, value in twin.named_buffers():
        assert torch.allclose(getattr(ours, name), value, atol=1e-6), name


def test_other_channels_are_refused_as_torch_does() -> None:
    with pytest.raises(RuntimeError, match="32 elements not 16"):
        norm_relu(fused(16), draw(2, 32, 4, 4))
    for kind in (torch.float64, torch.float16):
        with pytest.raises(RuntimeError):
            nn.BatchNorm2d.forward(fused(16).to(kind), draw(2, 16, 4, 4))
        with pytest.raises(RuntimeError):
            norm_relu(fused(16).to(kind), draw(2, 16, 4, 4))


def test_a_second_derivative_is_refused_with_a_remedy() -> None:
    x = draw(2, 16, 4, 4).requires_grad_()
    with pytest.raises(InputError, match=r"no second derivative: set training\.kernels to torch"):
        torch.autograd.grad(norm_relu(fused(16), x).sum(), x, create_graph=True)


def test_a_number_that_is_none_stays_one() -> None:
    x = draw(2, 16, 4, 4)
    x[0, 3, 0, 0] = torch.nan
    ours = fused(16)
    assert norm_relu(ours, x)[:, 3].isnan().all()
    assert norm_relu(ours.eval(), x)[0, 3, 0, 0].isnan()


def test_a_single_value_per_channel_is_refused_as_torch_does() -> None:
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm_relu(fused(16), draw(1, 16, 1, 1))


def test_the_usual_layout_stays_what_it_is() -> None:
    """Channels last where a net is not made for it: torch's kernels for few channels would write beyond their memory."""
    x = draw(2, 4, 6, 6).contiguous()
    assert norm_relu(fused(4), x).is_contiguous()


def test_what_does_not_suit() -> None:
    assert not suits_fusion(nn.BatchNorm2d(8, affine=False))
    assert not suits_fusion(nn.BatchNorm2d(8, momentum=None))
    assert not suits_fusion(nn.BatchNorm2d(8, track_running_stats=False))
    assert not suits_fusion(nn.BatchNorm1d(8))
    wide = fused(16).double()
    x = draw(2, 16, 4, 4).double()
    assert torch.equal(norm_relu(wide, x), F.relu(nn.BatchNorm2d.forward(copy.deepcopy(wide), x)))
