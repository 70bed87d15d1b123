"""Fisher information of nets for texts and series against one backward pass per input."""

from __future__ import annotations

import copy
from functools import partial

import pytest
import torch
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.learners.fisher import fisher_of_single_images, fisher_per_sample, layers_of
from einstellung.learners.laplace import curvature
from tests.learners.test_fisher import explicit
from tests.learners.token_nets import Bags, InPlace, Series, SharedTable, WeightedBag, text_net, texts

TEXTS = {
    "embedding_bag": partial(text_net, "embedding_bag"),
    "text_transformer": partial(text_net, "text_transformer"),
    "minilm": partial(text_net, "minilm"),
    "bags": Bags,
    "in place": InPlace,
}
SERIES = {"resnet1d": partial(build_backbone, "resnet1d", {"width": 4, "channels": 2}, 6, 3), "series": Series}
BY_INPUT = {"weighted bag": WeightedBag, "shared table": SharedTable}


def tried(name: str) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    net = (TEXTS | SERIES | BY_INPUT)[name]().double()
    if name in SERIES:
        net.train()(torch.randn(5, 2, 24, dtype=torch.float64))  # running statistics of their own
        inputs = torch.randn(7, 2, 24, dtype=torch.float64)
    else:
        inputs = texts(20 if name not in TEXTS or name in ("bags", "in place") else 150)
    return net, inputs, torch.arange(7) % 6


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap of torch's embedding bag
@pytest.mark.parametrize("name", [*TEXTS, *SERIES, *BY_INPUT])
def test_it_is_an_explicit_loop(name):
    net, inputs, labels = tried(name)
    assert (layers_of(copy.deepcopy(net).eval(), inputs[:1]) is None) == (name in BY_INPUT)
    expected = explicit(net, inputs.clone(), labels)
    before = [parameter.requires_grad for parameter in net.parameters()]
    found = fisher_per_sample(net, inputs.clone(), labels, chunk=3)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert torch.allclose(found[key], value, rtol=1e-9, atol=1e-16), key
    assert any(float(value.max()) > 0 for value in expected.values())
    assert [parameter.requires_grad for parameter in net.parameters()] == before


@pytest.mark.parametrize("name", ["embedding_bag", "text_transformer"])
def test_both_ways_agree(name, monkeypatch):
    """Layer by layer and with vmap."""
    net, inputs, labels = tried(name)
    by_layer = fisher_per_sample(net, inputs, labels)
    monkeypatch.setattr("einstellung.learners.fisher.layers_of", lambda *_: None)
    by_input = fisher_per_sample(net, inputs, labels)
    assert all(torch.allclose(by_layer[key], by_input[key], rtol=1e-9, atol=1e-16) for key in by_layer)


@pytest.mark.parametrize("name", ["embedding_bag", "text_transformer", "resnet1d"])
def test_half_precision_comes_close(name):
    net, inputs, labels = tried(name)
    net, inputs = net.float(), inputs.float() if name in SERIES else inputs
    exact = fisher_per_sample(net, inputs, labels)
    half = fisher_per_sample(net, inputs, labels, autocast=partial(torch.autocast, "cpu", torch.bfloat16))
    whole = {
        kind: sum(float(value.sum()) for value in found.values()) for kind, found in (("exact", exact), ("half", half))
    }
    assert whole["half"] == pytest.approx(whole["exact"], rel=0.05)


def test_curvature_and_online_fisher_of_texts():
    """The others that are built on it."""
    net, inputs, labels = tried("embedding_bag")
    found = curvature(net, inputs, len(inputs), 6)
    likely = net(inputs).softmax(dim=1).detach()
    expected = {name: torch.zeros_like(parameter) for name, parameter in net.named_parameters()}
    for row in range(len(inputs)):
        for output in range(6):
            one = explicit(net, inputs[row : row + 1], torch.tensor([output]))
            for name, value in one.items():
                expected[name] += likely[row, output] * value
    assert all(torch.allclose(found[name], expected[name], rtol=1e-4, atol=1e-9) for name in expected)
    single = fisher_of_single_images(net, inputs.split(1), labels, batch_size=7)
    assert all(torch.isfinite(value).all() for value in single.values())
