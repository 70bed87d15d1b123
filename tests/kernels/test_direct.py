"""Direct convolutions of few channels against torch's in double precision, and where they step aside."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from einstellung.errors import InputError
from einstellung.kernels import accelerate
from einstellung.kernels.direct import DirectConv2d, suits_direct

pytest.importorskip("numba")


def draw(*shape: int, seed: int = 0) -> Tensor:
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return values.contiguous(memory_format=torch.channels_last)


def direct(inputs: int, outputs: int, stride: int = 1, bias: bool = False) -> DirectConv2d:
    torch.manual_seed(0)
    layer = accelerate(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=bias))
    assert isinstance(layer, DirectConv2d)
    return layer


def is_ours(out: Tensor) -> bool:
    names = [type(out.grad_fn).__name__]
    names += [type(node).__name__ for node, _ in out.grad_fn.next_functions]  # type: ignore[union-attr]
    return "_DirectBackward" in names


def distance(one: Tensor, other: Tensor) -> float:
    """Largest difference as a share of the largest value."""
    one, other = one.detach().double(), other.detach().double()
    return float((one - other).abs().max() / other.abs().max())


CHANNELS = [(3, 8), (3, 16), (8, 8), (8, 16), (16, 8), (16, 16), (8, 24), (16, 32)]
SIZES = [(1, 5, 9), (3, 32, 32), (2, 8, 8), (2, 16, 16), (1, 1, 13), (2, 3, 17)]
STRIDED = [(3, 32, 32), (1, 2, 16), (2, 16, 18), (1, 6, 26)]


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(
    ("images", "height", "width", "stride"), [(*size, 1) for size in SIZES] + [(*size, 2) for size in STRIDED]
)
def test_outputs_and_gradients_are_those_in_double_precision(
    images: int, height: int, width: int, stride: int, channels: tuple[int, int]
) -> None:
    layer = direct(*channels, stride=stride, bias=True)
    x = draw(images, channels[0], height, width).requires_grad_(channels[0] != 3)
    ours = layer(x)
    assert is_ours(ours)
    upstream = draw(*ours.shape, seed=1)
    own = [value for value in (x, layer.weight, layer.bias) if value.requires_grad]
    found = torch.autograd.grad(ours, own, upstream)

    exact = [value.detach().double().requires_grad_() for value in (x, layer.weight, layer.bias)]
    reference = F.conv2d(*exact, stride=stride, padding=1)
    expected = torch.autograd.grad(reference, exact[-len(own) :], upstream.double())
    assert ours.shape == reference.shape
    assert ours.is_contiguous(memory_format=torch.channels_last)
    assert distance(ours, reference) < 1e-6
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert distance(one, other) < 1e-5


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("inputs", [3, 8])
def test_nothing_beside_an_image_is_read_or_written(inputs: int, stride: int) -> None:
    """Neighbours in memory, of other images and of none, are no numbers: whatever touched them would show it."""
    around = draw(5, inputs, 6, 18)
    around[[0, 2, 4]] = torch.nan
    layer = direct(inputs, 16, stride)
    x = around[1:4].requires_grad_(inputs != 3)
    out = layer(x)
    assert is_ours(out)
    assert [bool(one.isfinite().all()) for one in out] == [True, False, True]
    single = draw(3, *out.shape[1:], seed=1)
    single[[0, 2]] = torch.nan
    clean = around[1:2].detach().requires_grad_(inputs != 3)
    wanted = [value for value in (clean, layer.weight) if value.requires_grad]
    found = torch.autograd.grad(layer(clean), wanted, single[1:2])
    assert all(bool(one.isfinite().all()) for one in found)
    assert around[[0, 4]].isnan().all()


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_in_any_order_of_memory(stride: int) -> None:
    layer, x = direct(8, 16, stride), draw(2, 8, 16, 16).requires_grad_()
    out = layer(x)
    upstream = draw(*out.shape, seed=1)
    wide = torch.cat([upstream, upstream], dim=1)[:, :16]
    asked = (x, layer.weight)
    expected = torch.autograd.grad(out, asked, upstream, retain_graph=True)
    for same in (upstream.contiguous(), wide, upstream.flip(3).contiguous().flip(3)):
        found = torch.autograd.grad(out, asked, same, retain_graph=True)
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    everywhere = torch.autograd.grad(out.sum(), asked, retain_graph=True)  # one number, seen as many
    ones = torch.autograd.grad(out, asked, torch.ones_like(out))
    assert all(torch.equal(one, other) for one, other in zip(everywhere, ones, strict=True))


@pytest.mark.parametrize("stride", [1, 2])
def test_the_same_bytes_every_time_and_nearly_so_with_two_threads(stride: int) -> None:
    layer, x = direct(16, 16, stride), draw(5, 16, 16, 16).requires_grad_()
    results = []
    for threads in (1, 1, 2, 2):
        torch.set_num_threads(threads)
        out = layer(x)
        results.append([out, *torch.autograd.grad(out, (x, layer.weight), draw(*out.shape, seed=1))])
    for one, other in ((0, 1), (2, 3)):
        assert all(torch.equal(*pair) for pair in zip(results[one], results[other], strict=True))
    assert all(torch.equal(*pair) for pair in zip(results[0][:2], results[2][:2], strict=True))  # images are apart
    assert distance(results[2][2], results[0][2]) < 1e-6


def test_only_what_is_asked_for_gets_a_gradient() -> None:
    layer, x = direct(8, 8), draw(2, 8, 8, 8).requires_grad_()
    expected = torch.autograd.grad(layer(x).sum(), (x, layer.weight))
    layer.weight.requires_grad_(False)
    assert torch.equal(torch.autograd.grad(layer(x).sum(), x)[0], expected[0])
    layer.weight.requires_grad_(True)
    assert torch.equal(torch.autograd.grad(layer(x.detach()).sum(), layer.weight)[0], expected[1])


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(1, 8, 3, padding=1),
        nn.Conv2d(4, 8, 3, padding=1),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.Conv2d(8, 64, 3, padding=1),
        nn.Conv2d(24, 8, 3, padding=1),
        nn.Conv2d(8, 8, 3, stride=3, padding=1),
        nn.Conv2d(8, 8, 3, stride=(1, 2), padding=1),
        nn.Conv2d(8, 8, 3),
        nn.Conv2d(8, 8, 3, padding="same"),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2),
        nn.Conv2d(16, 16, 3, padding=1, groups=2),
        nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(8, 8, 1),
        nn.Conv2d(8, 8, 5, padding=1),
    ],
)
def test_other_layers_are_left_alone(layer: nn.Module) -> None:
    assert not suits_direct(layer)
    assert type(accelerate(layer)) is nn.Conv2d


@pytest.mark.parametrize(("size", "stride"), [((8, 7), 1), ((4, 4), 1), ((16, 14), 2), ((15, 16), 2), ((16, 17), 2)])
def test_small_and_odd_images_are_torchs(size: tuple[int, int], stride: int) -> None:
    layer, x = direct(8, 8, stride), draw(2, 8, *size)
    out = layer(x)
    assert not is_ours(out)
    assert torch.equal(out, nn.Conv2d.forward(layer, x))


def test_torch_computes_what_the_kernels_do_not() -> None:
    layer, x = direct(8, 8), draw(2, 8, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    wide = copy.deepcopy(layer).double()
    assert torch.equal(wide(x.double()), F.conv2d(x.double(), wide.weight, padding=1))
    assert copy.deepcopy(layer).to("meta")(x.to("meta")).shape == x.shape
    assert layer(x[:0]).shape == (0, 8, 8, 8)
    assert not is_ours(layer(x.contiguous()))  # in torch's usual layout everything stays as it is
    assert not is_ours(direct(3, 8)(draw(2, 3, 8, 8).requires_grad_()))
    weights = {"weight": layer.weight.detach()}

    def loss(weights: dict[str, Tensor], image: Tensor) -> Tensor:
        return functional_call(layer, weights, (image.unsqueeze(0),)).square().sum()

    single = vmap(grad(loss), in_dims=(None, 0))(weights, x)["weight"]
    assert torch.allclose(single[1], grad(loss)(weights, x[1])["weight"], rtol=1e-4, atol=1e-4)


def strided(layer: nn.Conv2d) -> None:
    layer.stride = (3, 3)


def unpadded(layer: nn.Conv2d) -> None:
    layer.padding = (0, 0)


def pruned(layer: nn.Conv2d) -> None:
    layer.weight, layer.bias = nn.Parameter(draw(5, 8, 3, 3)), nn.Parameter(torch.zeros(5))


def pointwise(layer: nn.Conv2d) -> None:
    layer.weight = nn.Parameter(draw(8, 8, 1, 1))


@pytest.mark.parametrize("change", [strided, unpadded, pruned, pointwise])
def test_a_layer_that_was_changed_later_computes_what_torch_would(change) -> None:
    layer, x = direct(8, 8, bias=True), draw(2, 8, 9, 9)
    change(layer)
    assert torch.equal(layer(x), nn.Conv2d.forward(layer, x))


def test_what_torch_refuses_is_refused() -> None:
    x = draw(2, 8, 8, 8)
    with pytest.raises(RuntimeError, match="channels"):
        direct(16, 8)(x)
    for kind in (torch.float64, torch.float16):
        with pytest.raises(RuntimeError, match=r"type|dtype"):
            direct(8, 8).to(kind)(x)
    layer = direct(8, 8, bias=True)
    layer.bias = nn.Parameter(torch.zeros(1))
    with pytest.raises(RuntimeError, match="bias"):
        layer(x)


def test_a_second_derivative_is_refused_with_a_remedy() -> None:
    layer, x = direct(8, 8), draw(2, 8, 8, 8).requires_grad_()
    with pytest.raises(InputError, match=r"no second derivative: set training\.kernels to torch"):
        torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)


def test_a_number_that_is_none_stays_one() -> None:
    x = draw(1, 8, 8, 8)
    x[0, 3, 4, 4] = torch.nan
    out = direct(8, 8)(x)[0]
    assert out[:, 3:6, 3:6].isnan().all()
    assert int(out.isnan().sum()) == 8 * 9
