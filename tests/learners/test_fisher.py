"""Fisher information against one backward pass per image, for nets with every kind of layer."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.backbones import ResNet18, VisionTransformer
from einstellung.learners import fisher, layer_squares
from einstellung.learners.fisher import fisher_per_sample, layers_of


def explicit(net, inputs, labels):
    """One image at a time through a copy of the net; squares added up one parameter at a time."""
    net = copy.deepcopy(net).eval().requires_grad_(True)
    total = {name: torch.zeros_like(p) for name, p in net.named_parameters()}
    for image, label in zip(inputs, labels, strict=True):
        net.zero_grad()
        F.log_softmax(net(image[None]), dim=1)[0, label].backward()
        for name, p in net.named_parameters():
            total[name] += p.grad**2
    return {name: value / len(labels) for name, value in total.items()}


class Convolutions(nn.Module):
    """Strided, dilated, grouped, depthwise, one-by-one and circular convolutions, with and without bias; an input in place."""

    def __init__(self) -> None:
        super().__init__()
        self.strided = nn.Conv2d(3, 8, (3, 2), stride=(2, 1), padding=(1, 0))
        self.dilated = nn.Conv2d(8, 6, 3, padding="same", dilation=2, bias=False)
        self.grouped = nn.Conv2d(6, 4, 3, groups=2)
        self.depthwise = nn.Conv2d(4, 8, 2, groups=4, stride=2)
        self.pointwise = nn.Conv2d(8, 5, 1, stride=2)
        self.circular = nn.Conv2d(5, 4, 3, padding=1, padding_mode="circular")
        self.head = nn.Linear(4, 6)

    def forward(self, x):
        x = x.mul_(1.5)
        x = F.relu(self.dilated(F.relu(self.strided(x), inplace=True)), inplace=True)
        x = self.depthwise(self.grouped(x).tanh()).tanh()
        return self.head(self.circular(self.pointwise(x)).tanh().mean(dim=(2, 3)))


class Norms(nn.Module):
    """Batch norm over vectors and maps, group norm, layer norm over one dimension and over two, a linear layer over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 4, stride=4)
        self.maps, self.groups = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.tokens, self.last = nn.LayerNorm(4), nn.LayerNorm(4, bias=False)
        self.both = nn.LayerNorm([9, 4])
        self.mix, self.vectors, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 6, bias=False)

    def forward(self, x):
        x = self.groups(F.relu(self.maps(self.conv(x)), inplace=True)).flatten(2).transpose(1, 2)
        x = self.both(x + self.mix(self.tokens(x)).tanh())
        return self.head(self.vectors(self.last(x)[:, 0]))


class Shared(nn.Module):
    """A layer that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.twice, self.head = nn.Linear(8, 8), nn.Linear(8, 6)

    def forward(self, x):
        x = x.flatten(1)[:, :8]
        return self.head(self.twice(self.twice(x).tanh()))


class Tied(Shared):
    """One weight in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.twice, self.other = nn.Linear(8, 8), nn.Linear(8, 8)
        self.other.weight = self.twice.weight

    def forward(self, x):
        return self.head(self.other(self.twice(x.flatten(1)[:, :8]).tanh()))


class UsedElsewhere(Shared):
    """A layer that is called once, and its weight once more without it."""

    def forward(self, x):
        return self.head(self.twice(x.flatten(1)[:, :8]).tanh() @ self.twice.weight)


class Unseen(Shared):
    """A layer whose weight is used without it being called."""

    def forward(self, x):
        return self.head(F.linear(x.flatten(1)[:, :8], self.twice.weight, self.twice.bias))


class Merged(Shared):
    """Rows of several images in one dimension."""

    def forward(self, x):
        return self.head(self.twice(x.flatten(1)[:, :24].reshape(-1, 8)).view(len(x), 3, 8).mean(dim=1))


class Doubling(nn.Linear):
    """A linear layer in name only."""

    def forward(self, x):
        return super().forward(2 * x)


class InNameOnly(Shared):
    def __init__(self) -> None:
        super().__init__()
        self.twice = Doubling(8, 8)

    def forward(self, x):
        return self.head(self.twice(x.flatten(1)[:, :8]).tanh())


class TokensFirst(Shared):
    """[token, image, number], with one token or as many as there are images when the net is looked at."""

    def __init__(self, tokens) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, x):
        x = x.flatten(1)[:, : 8 * self.tokens].unflatten(1, (self.tokens, 8)).transpose(0, 1)
        return self.head(self.twice(x).tanh().mean(dim=0))


class ChangedLater(Shared):
    """A layer's input is changed in place after it was read."""

    def forward(self, x):
        x = 2 * x.flatten(1)[:, :8]
        y = self.twice(x)
        x.mul_(3)
        return self.head(y.sigmoid() + x)


class Detached(Shared):
    """No gradient comes down to the images."""

    def forward(self, x):
        return self.head(self.twice(x.detach().flatten(1)[:, :8]).tanh())


class WithoutGradients(Detached):
    def forward(self, x):
        with torch.no_grad():
            x = 2 * x
        return super().forward(x)


class ByKeyword(Shared):
    def forward(self, x):
        return self.head(input=self.twice(input=x.flatten(1)[:, :8]).tanh())


def hooked() -> nn.Module:
    """A layer's output is replaced by somebody's hook."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(432, 8), nn.Linear(8, 6))
    net[1].register_forward_hook(lambda _, inputs, outputs: 3 * outputs.tanh())
    return net


def of_the_batch() -> nn.Module:
    norm = nn.BatchNorm2d(4, track_running_stats=False)
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=3), norm, nn.Flatten(), nn.Linear(64, 6))


BY_LAYER = {
    "resnet": partial(ResNet18, 6, width=2),
    "convolutions": Convolutions,
    "norms": Norms,
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(432, 6)),
    "hooked": hooked,
}
BY_IMAGE = {
    "vit": partial(VisionTransformer, 6, dim=8, depth=1, heads=2, image=12),
    "shared": Shared,
    "tied": Tied,
    "used elsewhere": UsedElsewhere,
    "not called": Unseen,
    "merged": Merged,
    "in name only": InNameOnly,
    "one token first": partial(TokensFirst, 1),
    "two tokens first": partial(TokensFirst, 2),
    "three tokens first": partial(TokensFirst, 3),
    "detached": Detached,
    "without gradients": WithoutGradients,
    "by keyword": ByKeyword,
    "statistics of the batch": of_the_batch,
}
NETS = BY_LAYER | BY_IMAGE


def tried(name, count=7):
    """The net in double precision, with running statistics unlike their start, and some images."""
    torch.manual_seed(3)
    net = NETS[name]().double()
    inputs, labels = torch.randn(count, 3, 12, 12, dtype=torch.float64), torch.arange(count) % 6
    net.train()(torch.randn(5, 3, 12, 12, dtype=torch.float64))
    return net, inputs, labels


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_it_is_an_explicit_loop(name, layout):
    net, inputs, labels = tried(name)
    net, inputs = net.to(memory_format=layout), inputs.to(memory_format=layout)
    net.requires_grad_(False)
    assert (layers_of(copy.deepcopy(net).eval(), inputs[:1]) is None) == (name in BY_IMAGE)
    expected = explicit(net, inputs.clone(), labels)
    found = fisher_per_sample(net, inputs.clone(), labels, chunk=3)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert float(value.max()) > 0, key
        assert torch.allclose(found[key], value, rtol=1e-10, atol=1e-16), key
        assert found[key].stride() == value.stride(), key
        assert not found[key].requires_grad, key


@pytest.mark.parametrize("autocast", [nullcontext, partial(torch.autocast, "cpu", torch.bfloat16)])
def test_a_layer_whose_input_is_changed_later_is_not_believed(autocast):
    """What it read is gone: torch says so, as it does when such a net is trained in full precision."""
    net, inputs = ChangedLater(), torch.randn(4, 3, 12, 12)
    assert layers_of(net, inputs[:1], autocast) is None
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        fisher_per_sample(net, inputs, torch.arange(4), autocast=autocast)


@pytest.mark.parametrize("name", BY_IMAGE)
def test_single_images_stay_single_under_autocast(name):
    """Casts that are kept do not hide a weight's second use."""
    net, inputs, labels = tried(name, count=4)
    net, inputs = net.float(), inputs.float()
    half = partial(torch.autocast, "cpu", torch.bfloat16)
    assert layers_of(copy.deepcopy(net).eval(), inputs[:1], half) is None
    expected = explicit(net, inputs.clone(), labels)
    found = fisher_per_sample(net, inputs.clone(), labels, autocast=half)
    assert all(torch.allclose(found[key], value, rtol=1e-3, atol=1e-6) for key, value in expected.items())


@pytest.mark.parametrize("name", ["resnet", "convolutions", "norms", "vit"])
def test_pieces_change_nothing(name, monkeypatch):
    """Chunks of any size; gradients of one image in blocks of rows, of several images together, and patches a few at a time."""
    net, inputs, labels = tried(name)
    whole = fisher_per_sample(net, inputs.clone(), labels)
    for chunk, block, values, small in ((1, 2**19, 2**20, 2**22), (4, 40, 500, 2**22), (7, 40, 500, 1), (7, 1, 1, 1)):
        monkeypatch.setattr(layer_squares, "_BLOCK", block)
        monkeypatch.setattr(layer_squares, "_VALUES", values)
        monkeypatch.setattr(layer_squares, "_SMALL", small)
        other = fisher_per_sample(net, inputs.clone(), labels, chunk=chunk)
        assert all(torch.allclose(value, other[key], rtol=1e-11, atol=1e-16) for key, value in whole.items())


def test_large_images_come_in_small_chunks(monkeypatch):
    net, inputs, labels = tried("norms")
    whole = fisher_per_sample(net, inputs, labels)
    seen = []
    monkeypatch.setattr(fisher, "_ACTIVATIONS", 2 * layers_of(net.eval(), inputs[:1]).numbers + 1)
    net.register_forward_hook(lambda _, given, __: seen.append(len(given[0])))
    parts = fisher_per_sample(net, inputs, labels)
    assert seen == [1, 2, 3, 2, 2, 2, 1]  # the first three to look at the layers
    assert all(torch.allclose(value, parts[key], rtol=1e-11) for key, value in whole.items())


@pytest.mark.parametrize("name", ["resnet", "vit"])
@pytest.mark.parametrize("fails", [False, True])
def test_the_net_is_left_as_it_was(name, fails):
    """Weights, statistics, modes of single modules, flags of single parameters, hooks, gradients; after an error, too."""
    net, inputs, labels = tried(name)
    net.train()
    next(module for module in net.modules() if isinstance(module, nn.BatchNorm2d | nn.LayerNorm)).eval()
    next(net.parameters()).requires_grad_(False)
    modes, flags = [m.training for m in net.modules()], [p.requires_grad for p in net.parameters()]
    before = copy.deepcopy(net.state_dict())
    if fails:
        with pytest.raises((IndexError, RuntimeError)):
            fisher_per_sample(net, inputs, labels + 6, chunk=4)
    else:
        fisher_per_sample(net, inputs, labels, chunk=4)
    assert [m.training for m in net.modules()] == modes
    assert [p.requires_grad for p in net.parameters()] == flags
    assert all(p.grad is None for p in net.parameters())
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
    assert not any(m._forward_hooks or m._backward_hooks for m in net.modules())
    assert not inputs.requires_grad


@pytest.mark.parametrize("name", ["resnet", "norms"])
def test_half_precision_keeps_the_penalty(name):
    """Computed in bfloat16, kept in fp32: a small move of the weights costs the same within a few percent."""
    net, inputs, labels = tried(name, count=24)
    net, inputs = net.float(), inputs.float()
    full = fisher_per_sample(net, inputs, labels)
    half = fisher_per_sample(net, inputs, labels, autocast=lambda: torch.autocast("cpu", torch.bfloat16))
    move = {key: 1e-3 * torch.randn_like(value) for key, value in full.items()}
    prices = [sum(float((found[key] * move[key] ** 2).sum()) for key in found) for found in (full, half)]
    assert prices[0] != prices[1]
    assert prices[1] == pytest.approx(prices[0], rel=0.05)
    assert all(value.dtype == torch.float32 for value in half.values())


def test_a_compiled_net_is_looked_at_as_it_is_written(monkeypatch):
    """Code that was compiled before would not call the hooks."""
    net, inputs, labels = tried("norms")
    expected = fisher_per_sample(net, inputs, labels)
    stances = []
    monkeypatch.setattr(
        torch.compiler, "set_stance", lambda stance: stances.append(stance) or torch.no_grad(), raising=False
    )
    net.conv._compiled_call_impl = net.conv._call_impl
    found = fisher_per_sample(net, inputs, labels)
    assert stances == ["force_eager"]
    assert all(torch.equal(value, found[key]) for key, value in expected.items())


def test_kernels_of_our_own_give_the_same(monkeypatch):
    """Convolutions by Winograd's algorithm, with many tiles an image and with few; fused norms are listened to one by one."""
    pytest.importorskip("numba")
    from einstellung.kernels import accelerate, convolution

    torch.manual_seed(0)
    plain = ResNet18(6, width=32).to(memory_format=torch.channels_last).eval()
    ours = accelerate(copy.deepcopy(plain))
    inputs = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
    labels = torch.arange(2)
    used = []
    compute = convolution._Winograd.apply
    monkeypatch.setattr(convolution._Winograd, "apply", lambda *given: used.append("convolution") or compute(*given))
    add = convolution.add_weight_squares
    monkeypatch.setattr(convolution, "add_weight_squares", lambda *given: used.append("squares") or add(*given))
    found = fisher_per_sample(ours, inputs, labels)
    assert {"convolution", "squares"} <= set(used)
    expected = explicit(plain.double(), inputs.double(), labels)
    for key, value in expected.items():
        assert torch.allclose(found[key].double(), value, rtol=1e-2, atol=1e-3 * float(value.max())), key
