"""Winograd's convolutions against direct ones in double precision, and where they step aside."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, vmap

from einstellung.errors import InputError
from einstellung.kernels import accelerate
from einstellung.kernels.convolution import WinogradConv2d, suits_winograd, tile_size

pytest.importorskip("numba")


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return values.contiguous(memory_format=torch.channels_last)


def winograd(inputs: int, outputs: int, bias: bool = False) -> WinogradConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias))
    assert isinstance(layer, WinogradConv2d)
    return layer


def distance(one: Tensor, other: Tensor) -> float:
    """Largest difference as a share of the largest value."""
    one, other = one.detach().double(), other.detach().double()
    return float((one - other).abs().max() / other.abs().max())


SIZES = [(32, 32), (16, 16), (8, 8), (4, 4), (5, 5), (7, 7), (10, 10), (6, 9), (3, 2), (1, 1)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [(32, 48), (64, 32)])
def test_outputs_and_gradients_are_those_of_a_direct_convolution(
    height: int, width: int, channels: tuple[int, int]
) -> None:
    layer = winograd(*channels, bias=True)
    x = draw(3, channels[0], height, width).requires_grad_()
    upstream = draw(3, channels[1], height, width, seed=1)
    ours = layer(x)
    found = torch.autograd.grad(ours, (x, layer.weight, layer.bias), upstream)

    exact = [value.detach().double().requires_grad_() for value in (x, layer.weight, layer.bias)]
    direct = F.conv2d(*exact, padding=1)
    expected = torch.autograd.grad(direct, exact, upstream.double())
    assert distance(ours, direct) < 2e-5
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert distance(one, other) < 2e-5


def test_many_images_go_through_in_groups() -> None:
    layer = winograd(64, 64)
    x = draw(21, 64, 32, 32).requires_grad_()  # the cache holds the tiles of eight such images
    upstream = draw(21, 64, 32, 32, seed=1)
    ours = layer(x)
    found = torch.autograd.grad(ours, (x, layer.weight), upstream)
    direct = F.conv2d(x, layer.weight, padding=1)
    expected = torch.autograd.grad(direct, (x, layer.weight), upstream)
    assert distance(ours, direct) < 2e-5
    assert all(distance(one, other) < 3e-5 for one, other in zip(found, expected, strict=True))
    with torch.no_grad():
        assert torch.equal(layer(x), ours)


@pytest.mark.parametrize("side", [4, 8])
def test_two_threads_share_the_images(side: int) -> None:
    layer = winograd(32, 32)
    x, upstream = draw(5, 32, side, side).requires_grad_(), draw(5, 32, side, side, seed=1)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            out = layer(x)
            results.append([out, *torch.autograd.grad(out, (x, layer.weight), upstream)])
    finally:
        torch.set_num_threads(before)
    assert all(distance(one, other) < 1e-6 for one, other in zip(*results, strict=True))


def test_only_what_is_asked_for_gets_a_gradient() -> None:
    layer = winograd(32, 32)
    x = draw(2, 32, 8, 8).requires_grad_()
    expected = torch.autograd.grad(layer(x).sum(), (x, layer.weight))
    layer.weight.requires_grad_(False)
    assert torch.equal(torch.autograd.grad(layer(x).sum(), x)[0], expected[0])
    layer.weight.requires_grad_(True)
    assert torch.equal(torch.autograd.grad(layer(x.detach()).sum(), layer.weight)[0], expected[1])


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(16, 64, 3, padding=1),
        nn.Conv2d(64, 40, 3, padding=1),
        nn.Conv2d(64, 64, 3, stride=2, padding=1),
        nn.Conv2d(64, 64, 3),
        nn.Conv2d(64, 64, 3, padding=2, dilation=2),
        nn.Conv2d(64, 64, 3, padding=1, groups=2),
        nn.Conv2d(64, 64, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(64, 64, 1),
        nn.Linear(64, 64),
    ],
)
def test_other_layers_are_left_alone(layer: nn.Module) -> None:
    assert not suits_winograd(layer)
    kind = type(layer)
    assert type(accelerate(layer)) is kind


def test_torch_computes_what_the_kernels_do_not() -> None:
    layer = winograd(32, 32)
    x = draw(2, 32, 8, 8)
    plain = F.conv2d(x, layer.weight, padding=1)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    wide = copy.deepcopy(layer).double()
    assert torch.equal(wide(x.double()), F.conv2d(x.double(), wide.weight, padding=1))
    assert copy.deepcopy(layer).to("meta")(x.to("meta")).shape == plain.shape
    assert layer(x[:0]).shape == (0, 32, 8, 8)
    assert layer(x.contiguous()).is_contiguous()  # in torch's usual layout everything stays as it is
    assert torch.equal(layer(x.contiguous()), F.conv2d(x.contiguous(), layer.weight, padding=1))
    assert not torch.equal(layer(x), plain)  # elsewhere it is Winograd's algorithm, with another rounding
    weights = {"weight": layer.weight.detach()}

    def loss(weights: dict[str, Tensor], image: Tensor) -> Tensor:
        return functional_call(layer, weights, (image.unsqueeze(0),)).square().sum()

    single = vmap(grad(loss), in_dims=(None, 0))(weights, x)["weight"]
    assert torch.allclose(single[1], grad(loss)(weights, x[1])["weight"], rtol=1e-4, atol=1e-4)


def pruned(layer: nn.Conv2d) -> None:
    layer.weight = nn.Parameter(draw(40, 32, 3, 3))
    layer.bias = nn.Parameter(draw(40, 1, 1, 1).flatten())


def strided(layer: nn.Conv2d) -> None:
    layer.stride = (2, 2)


def dilated(layer: nn.Conv2d) -> None:
    layer.dilation = layer.padding = (2, 2)


def unpadded(layer: nn.Conv2d) -> None:
    layer.padding = (0, 0)


def pointwise(layer: nn.Conv2d) -> None:
    layer.weight = nn.Parameter(draw(32, 32, 1, 1))


@pytest.mark.parametrize("change", [pruned, strided, dilated, unpadded, pointwise])
def test_a_layer_that_was_changed_later_computes_what_torch_would(change) -> None:
    layer = winograd(32, 32, bias=True)
    change(layer)
    x = draw(2, 32, 9, 9)
    assert torch.equal(layer(x), nn.Conv2d.forward(layer, x))


def test_what_torch_refuses_is_refused() -> None:
    x = draw(2, 32, 8, 8)
    with pytest.raises(RuntimeError, match="channels"):
        winograd(48, 32)(x)
    for kind in (torch.float64, torch.float16):
        with pytest.raises(RuntimeError, match=r"type|dtype"):
            winograd(32, 32).to(kind)(x)
    layer = winograd(32, 32, bias=True)
    layer.bias = nn.Parameter(torch.zeros(1))
    with pytest.raises(RuntimeError, match="bias"):
        layer(x)


def test_transforms_of_functions_are_left_to_torch() -> None:
    """By the weight alone, by what comes after the layer, forwards, and by tracing."""
    layer, x = winograd(32, 32), draw(2, 32, 8, 8)
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


def test_a_second_derivative_is_refused_with_a_remedy() -> None:
    layer, x = winograd(32, 32), draw(2, 32, 4, 4).requires_grad_()
    with pytest.raises(InputError, match=r"no second derivative: set training\.kernels to torch"):
        torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)


def test_defaults_of_torch_change_nothing() -> None:
    layer, x = winograd(32, 32), draw(2, 32, 8, 8)
    expected = layer(x)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(layer(x), expected)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert torch.equal(layer(x), expected)


def test_a_layer_is_called_by_keyword_as_before() -> None:
    layer, x = winograd(32, 32), draw(1, 32, 4, 4)
    assert torch.equal(layer(input=x), layer(x))


def test_a_number_that_is_none_stays_one() -> None:
    x = draw(1, 32, 8, 8)
    x[0, 3, 4, 4] = torch.nan
    assert winograd(32, 32)(x)[0, :, 4, 4].isnan().all()


def test_hooks_see_the_layer_and_names_stay() -> None:
    net = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
    names = list(net.state_dict())
    accelerate(net)
    seen: list[Tensor] = []
    net[0].register_forward_hook(lambda _, inputs, output: seen.append(output))
    out = net(draw(1, 32, 4, 4))
    assert torch.equal(seen[0].relu(), out)
    assert list(net.state_dict()) == names
    assert torch.equal(copy.deepcopy(net)(draw(1, 32, 4, 4)), out)


def test_tiles_are_chosen_by_the_number_of_products() -> None:
    for side in range(5, 40):
        products = {m: (m + 2) ** 2 * (-(-side // m)) ** 2 for m in (2, 4)}
        assert products[tile_size(side, side)] == min(products.values())
