"""Convolutions of ours, Winograd's and direct ones, behave as torch's layers do, and leave to torch what they do not support."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, vmap

from einstellung.errors import InputError
from einstellung.kernels import accelerate
from tests.kernels.layers import draw, is_ours, narrow, winograd

pytest.importorskip("numba")

Make = Callable[..., nn.Conv2d]
# in strips, and by products over the tiles of all images
BOTH = pytest.mark.parametrize(
    ("make", "width"), [(winograd, 32), (winograd, 144), (narrow, 8)], ids=["winograd", "many-channels", "narrow"]
)


@BOTH
def test_only_what_is_asked_for_gets_a_gradient(make: Make, width: int) -> None:
    layer, x = make(width, width), draw(2, width, 8, 8).requires_grad_()
    expected = torch.autograd.grad(layer(x).sum(), (x, layer.weight))
    layer.weight.requires_grad_(False)
    assert torch.equal(torch.autograd.grad(layer(x).sum(), x)[0], expected[0])
    layer.weight.requires_grad_(True)
    assert torch.equal(torch.autograd.grad(layer(x.detach()).sum(), layer.weight)[0], expected[1])


@BOTH
def test_torch_computes_what_the_kernels_do_not(make: Make, width: int) -> None:
    layer, x = make(width, width), draw(2, width, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    wide = copy.deepcopy(layer).double()
    assert torch.equal(wide(x.double()), F.conv2d(x.double(), wide.weight, padding=1))
    assert copy.deepcopy(layer).to("meta")(x.to("meta")).shape == x.shape
    assert layer(x[:0]).shape == (0, width, 8, 8)
    assert layer(x.contiguous()).is_contiguous()  # in torch's usual layout everything stays as it is
    assert torch.equal(layer(x.contiguous()), F.conv2d(x.contiguous(), layer.weight, padding=1))
    assert not torch.equal(
        layer(x), F.conv2d(x, layer.weight, padding=1)
    )  # elsewhere it is ours, with another rounding
    weights = {"weight": layer.weight.detach()}

    def loss(weights: dict[str, Tensor], image: Tensor) -> Tensor:
        return functional_call(layer, weights, (image.unsqueeze(0),)).square().sum()

    single = vmap(grad(loss), in_dims=(None, 0))(weights, x)["weight"]
    assert torch.allclose(single[1], grad(loss)(weights, x[1])["weight"], rtol=1e-4, atol=1e-4)


def test_narrow_layers_give_no_gradient_of_pictures() -> None:
    assert not is_ours(narrow(3, 8)(draw(2, 3, 8, 8).requires_grad_()))


def pruned(layer: nn.Conv2d) -> None:
    layer.weight = nn.Parameter(draw(5, layer.in_channels, 3, 3))
    layer.bias = nn.Parameter(draw(5, 1, 1, 1).flatten())


def strided(layer: nn.Conv2d) -> None:
    layer.stride = (3, 3)


def dilated(layer: nn.Conv2d) -> None:
    layer.dilation = layer.padding = (2, 2)


def unpadded(layer: nn.Conv2d) -> None:
    layer.padding = (0, 0)


def pointwise(layer: nn.Conv2d) -> None:
    layer.weight = nn.Parameter(draw(layer.out_channels, layer.in_channels, 1, 1))


@BOTH
@pytest.mark.parametrize("change", [pruned, strided, dilated, unpadded, pointwise])
def test_a_layer_that_was_changed_later_computes_what_torch_would(make: Make, width: int, change) -> None:
    layer, x = make(width, width, bias=True), draw(2, width, 9, 9)
    change(layer)
    assert torch.equal(layer(x), nn.Conv2d.forward(layer, x))


@BOTH
def test_what_torch_refuses_is_refused(make: Make, width: int) -> None:
    x = draw(2, width, 8, 8)
    with pytest.raises(RuntimeError, match="channels"):
        make(width + 16 if make is winograd else 16, width)(x)
    for kind in (torch.float64, torch.float16):
        with pytest.raises(RuntimeError, match=r"type|dtype"):
            make(width, width).to(kind)(x)
    layer = make(width, width, bias=True)
    layer.bias = nn.Parameter(torch.zeros(1))
    with pytest.raises(RuntimeError, match="bias"):
        layer(x)


@BOTH
def test_transforms_of_functions_are_left_to_torch(make: Make, width: int) -> None:
    """By the weight alone, by what comes after the layer, forwards, and by tracing."""
    layer, x = make(width, width), draw(2, width, 8, 8)
    weight = layer.weight.detach()

    def loss(weight: Tensor) -> Tensor:
        return functional_call(layer, {"weight": weight}, (x,)).square().sum()

    def plain(weight: Tensor) -> Tensor:
        return F.conv2d(x, weight, padding=1).square().sum()

    assert torch.allclose(grad(loss)(weight), grad(plain)(weight), rtol=1e-4, atol=1e-3)
    total = layer(x).sum().detach()
    assert torch.allclose(grad(lambda scale: scale * layer(x).sum())(torch.tensor(1.0)), total, rtol=1e-3)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(layer(forward_ad.make_dual(x, torch.ones_like(x)))).tangent
    assert torch.allclose(tangent, F.conv2d(torch.ones_like(x), weight, padding=1), atol=1e-5)
    traced = torch.jit.trace(layer, x)
    assert torch.allclose(traced(2 * x), F.conv2d(2 * x, weight, padding=1), atol=1e-4)


@BOTH
def test_a_second_derivative_is_refused_with_a_remedy(make: Make, width: int) -> None:
    layer, x = make(width, width), draw(2, width, 8, 8).requires_grad_()
    with pytest.raises(InputError, match=r"no second derivative: set training\.kernels to torch"):
        torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)


@BOTH
def test_defaults_of_torch_change_nothing(make: Make, width: int) -> None:
    layer, x = make(width, width), draw(2, width, 8, 8)
    expected = layer(x)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(layer(x), expected)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert torch.equal(layer(x), expected)


@BOTH
def test_a_layer_is_called_by_keyword_as_before(make: Make, width: int) -> None:
    layer, x = make(width, width), draw(1, width, 8, 8)
    assert torch.equal(layer(input=x), layer(x))


@BOTH
def test_a_number_that_is_none_stays_one(make: Make, width: int) -> None:
    for columns in (8, 9):  # nine are no strip
        x = draw(1, width, 8, columns)
        x[0, 3, 4, 4] = torch.nan
        out = make(width, width)(x)[0]
        assert out[:, 3:6, 3:6].isnan().all()
    if make is narrow:  # Winograd's tiles spread it
        assert int(out.isnan().sum()) == width * 9


@BOTH
def test_hooks_see_the_layer_and_names_stay(make: Make, width: int) -> None:
    net = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
    names = list(net.state_dict())
    accelerate(net)
    seen: list[Tensor] = []
    net[0].register_forward_hook(lambda _, inputs, output: seen.append(output))
    out = net(draw(1, width, 8, 8))
    assert torch.equal(seen[0].relu(), out)
    assert list(net.state_dict()) == names
    assert torch.equal(copy.deepcopy(net)(draw(1, width, 8, 8)), out)
