"""A residual block in one step against torch's layers in double precision, and where it falls back to the layers."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones.resnet import BasicBlock
from einstellung.errors import InputError
from einstellung.kernels import accelerate
from einstellung.kernels.multi_batch import separate_batches
from tests.kernels.layers import distance, draw

pytest.importorskip("numba")
KINDS = pytest.mark.parametrize(
    ("channels", "side"), [(8, 16), (16, 8), (32, 8), (64, 4), (16, 10), (32, 10), (144, 8)]
)
FUSED = "_ResidualBackward"


def block(channels: int) -> BasicBlock:
    torch.manual_seed(channels)
    made = BasicBlock(channels, channels, 1).to(memory_format=torch.channels_last)
    with torch.no_grad():
        for norm in (made.bn1, made.bn2):
            norm.weight.add_(0.3 * draw(channels, 1, 1, 1, seed=4).flatten())
            norm.bias.add_(0.3 * draw(channels, 1, 1, 1, seed=5).flatten())
    accelerate(made)
    return made


def plain(made: BasicBlock, x: Tensor) -> Tensor:
    """The same by torch's own layers."""
    out = F.relu(nn.BatchNorm2d.forward(made.bn1, F.conv2d(x, made.conv1.weight, padding=1)))
    return F.relu(nn.BatchNorm2d.forward(made.bn2, F.conv2d(out, made.conv2.weight, padding=1)) + x)


@KINDS
@pytest.mark.parametrize("training", [True, False])
def test_one_step_is_the_whole_block(channels: int, side: int, training: bool) -> None:
    ours = block(channels).train(training)
    exact = copy.deepcopy(ours).double()
    x, upstream = draw(6, channels, side, side).requires_grad_(), draw(6, channels, side, side, seed=1)
    out = ours(x)
    assert type(out.grad_fn).__name__ == FUSED
    found = torch.autograd.grad(out, [x, *ours.parameters()], upstream)
    wide = x.detach().double().requires_grad_()
    reference = plain(exact, wide)
    expected = torch.autograd.grad(reference, [wide, *exact.parameters()], upstream.double())
    assert distance(out, reference) < 1e-4
    assert out.is_contiguous(memory_format=torch.channels_last)
    for (name, _), one, other in zip([("x", x), *ours.named_parameters()], found, expected, strict=True):
        assert distance(one, other) < 2e-3, name
    for name, value in exact.named_buffers():
        torch.testing.assert_close(ours.get_buffer(name).double(), value.double(), rtol=1e-4, atol=1e-5)


@KINDS
def test_without_a_gradient_of_the_images_the_weights_get_theirs(channels: int, side: int) -> None:
    ours, x = block(channels), draw(4, channels, side, side)
    with_x = torch.autograd.grad(ours(x.clone().requires_grad_()).square().sum(), list(ours.parameters()))
    without = torch.autograd.grad(ours(x).square().sum(), list(ours.parameters()))
    for one, other in zip(with_x, without, strict=True):
        torch.testing.assert_close(one, other)


def test_batches_have_statistics_of_their_own() -> None:
    at_once, in_turn = block(16), block(16)
    first, second = draw(4, 16, 8, 8), 3 * draw(6, 16, 8, 8, seed=1) + 2
    with separate_batches((4, 6)):
        ours = at_once(torch.cat([first, second]).contiguous(memory_format=torch.channels_last))
    assert type(ours.grad_fn).__name__ == FUSED
    theirs = torch.cat([in_turn(first), in_turn(second)])
    assert distance(ours, theirs) < 1e-5
    found, expected = (
        torch.autograd.grad(y.square().sum(), [*net.parameters()]) for net, y in ((at_once, ours), (in_turn, theirs))
    )
    for one, other in zip(found, expected, strict=True):
        assert distance(one, other) < 1e-3
    assert int(at_once.bn2.num_batches_tracked) == 2


def hooked(made: BasicBlock) -> None:
    made.conv1.register_forward_hook(lambda *_: None)


def hooked_shortcut(made: BasicBlock) -> None:
    made.shortcut.register_forward_hook(lambda *_: None)


def partly_frozen(made: BasicBlock) -> None:
    made.conv2.weight.requires_grad_(False)


def one_norm_at_rest(made: BasicBlock) -> None:
    made.bn1.eval()


def with_bias(made: BasicBlock) -> None:
    made.conv1.bias = nn.Parameter(torch.ones(16))


def mixed(made: BasicBlock) -> None:
    made.conv2.__class__ = nn.Conv2d


@pytest.mark.parametrize("change", [hooked, hooked_shortcut, partly_frozen, one_norm_at_rest, with_bias, mixed])
def test_it_falls_back_to_the_layers(change: Callable[[BasicBlock], None]) -> None:
    made, x = block(16), draw(4, 16, 8, 8).requires_grad_()
    whole = made(x)
    other = block(16)
    change(other)
    out = other(x)
    assert type(whole.grad_fn).__name__ == FUSED
    assert type(out.grad_fn).__name__ != FUSED
    if change in (hooked, hooked_shortcut, partly_frozen, mixed):
        assert distance(out, whole) < 1e-4


def test_layouts_and_modes_that_are_not_its_own_are_left_to_the_layers() -> None:
    made, x = block(16), draw(4, 16, 8, 8)
    for given in (x.contiguous(), x.double()):
        layers = copy.deepcopy(made).double() if given.dtype == torch.float64 else copy.deepcopy(made)
        assert type(layers(given.requires_grad_()).grad_fn).__name__ != FUSED
    whole = copy.deepcopy(made)(x)
    assert type(whole.grad_fn).__name__ == FUSED
    with torch.no_grad():
        torch.testing.assert_close(made(x), whole.detach())


def test_a_layer_that_was_wrapped_is_called_as_it_is() -> None:
    made, x = block(16), draw(4, 16, 8, 8)
    expected = copy.deepcopy(made)(x)
    made.conv1 = nn.Sequential(made.conv1)  # type: ignore[assignment]
    torch.testing.assert_close(made(x), expected)


def test_what_is_kept_for_the_gradient_may_be_moved() -> None:
    made, x = block(16), draw(4, 16, 8, 8).requires_grad_()
    expected = torch.autograd.grad(made(x).square().sum(), [x, *made.parameters()])
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.contiguous().clone(), lambda kept: kept):
        out = made(x)
    found = torch.autograd.grad(out.square().sum(), [x, *made.parameters()], retain_graph=True)
    again = torch.autograd.grad(out.square().sum(), [x, *made.parameters()])
    for one, two, other in zip(found, again, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(two, one)


def test_it_has_no_second_derivative() -> None:
    made, x = block(8), draw(2, 8, 8, 8).requires_grad_()
    with pytest.raises(InputError, match="no second derivative"):
        torch.autograd.grad(made(x).sum(), x, create_graph=True)
