"""The set transformer against its formula, and among the things of the house that meet a net."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.backbones.set_transformer import SetTransformer
from einstellung.errors import InputError
from einstellung.learners import Context, make_learner
from einstellung.learners.fisher import fisher_per_sample, layers_of
from einstellung.streams import ImageSet, Phase, Presentation, Stream
from einstellung.training.acceleration import accelerate
from einstellung.training.loop import LoopSettings, PhaseLoop
from einstellung.training.precision import suits_channels_last


def tables(count: int, objects: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 2, (count, 1, objects, 16), generator=torch.Generator().manual_seed(seed)).float()


def small(**options) -> nn.Module:
    return build_backbone("set_transformer", {"dim": 8, "heads": 2, **options}, 2, seed=1)


def by_hand(attention, queries, keys, values, heads):
    """Equations 6 and 7 of Lee et al., one set and one head at a time; sqrt of the whole width as in their code."""
    width = queries.shape[1] // heads
    parts = [slice(width * head, width * (head + 1)) for head in range(heads)]
    found = [
        torch.softmax(queries[:, part] @ keys[:, part].T / queries.shape[1] ** 0.5, 1) @ values[:, part]
        for part in parts
    ]
    out = F.layer_norm(queries + torch.cat(found, 1), (queries.shape[1],), attention.norm1.weight, attention.norm1.bias)
    out = out + F.relu(out @ attention.fc.weight.T + attention.fc.bias)
    return F.layer_norm(out, (queries.shape[1],), attention.norm2.weight, attention.norm2.bias)


def test_against_the_formula():
    net = small().double().eval()
    for parameter in net.parameters():  # norms that scale and shift
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))
    for table, logits in zip(tables(3).double(), net(tables(3).double()), strict=True):
        objects = table[0]
        for block in net.blocks:
            q, k, v = (
                objects @ weight.T + bias
                for weight, bias in zip(block.qkv.weight.chunk(3), block.qkv.bias.chunk(3), strict=True)
            )
            objects = by_hand(block.attn, q, k, v, 2)
        k, v = (
            objects @ weight.T + bias
            for weight, bias in zip(net.pool.kv.weight.chunk(2), net.pool.kv.bias.chunk(2), strict=True)
        )
        q = net.pool.seed[0] @ net.pool.query.weight.T + net.pool.query.bias
        pooled = by_hand(net.pool.attn, q, k, v, 2)
        assert torch.allclose(logits, (pooled @ net.head.weight.T + net.head.bias)[0])


def test_the_published_net_has_as_many_weights():
    """Three blocks with queries, keys, values and fc_o, two norms each, one seed and a head, at width 128 over 16 columns."""
    first, other, norms = 3 * (16 + 1) * 128, 3 * (128 + 1) * 128, 2 * 2 * 128
    fc = (128 + 1) * 128
    assert sum(p.numel() for p in SetTransformer(2).parameters()) == (
        first + 2 * other + 3 * (fc + norms) + 128 + (128 + 1) * 2
    )


def test_the_order_of_the_objects_does_not_matter():
    net = small().eval()
    one = tables(5)
    order = torch.tensor([2, 0, 3, 1])
    assert torch.allclose(net(one), net(one[:, :, order]), atol=1e-6)
    assert not torch.allclose(net(one), net(one.flip(3)), atol=1e-3)  # the columns' order does


def test_any_number_of_objects_and_empty_slots_take_part():
    net = small().eval()
    one = tables(2)
    padded = F.pad(one, (0, 0, 0, 6))  # ten slots, six of them zero
    assert net(padded).shape == (2, 2)
    assert not torch.allclose(net(one), net(padded), atol=1e-3)


def test_dropout_acts_in_training_alone():
    net = small()
    assert net.dropout.p == 0.5
    one = tables(1).expand(64, -1, -1, -1)
    assert net.train()(one).std(dim=0).min() > 1e-3
    assert net.eval()(one).std(dim=0).max() < 1e-6
    assert small(dropout=0.0).train()(one).std(dim=0).max() < 1e-6
    assert torch.equal(net.head(net.features(one)), net(one))


def test_weights_are_a_function_of_the_seed_alone():
    torch.manual_seed(5)
    one = small().state_dict()
    torch.rand(3)
    assert all(torch.equal(value, one[name]) for name, value in small().state_dict().items())
    other = build_backbone("set_transformer", {"dim": 8, "heads": 2}, 2, seed=2).state_dict()
    assert not torch.equal(other["pool.seed"], one["pool.seed"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heads": 3}, "multiple of backbone.heads 3"),
        ({"dropout": 1.0}, "backbone.dropout is 1.0"),
        ({"columns": 0}, "at least 1"),
        ({"colums": 4}, "did you mean 'columns'"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        small(**options)


def test_layout_and_kernels_leave_it_alone():
    net = small()
    before = {name: type(module) for name, module in net.named_modules()}
    assert not suits_channels_last(net)
    assert {name: type(module) for name, module in accelerate(net).named_modules()} == before


def test_fisher_information_image_by_image():
    """The seed belongs to no known layer, so gradients of single images are taken; dropout is off while they are."""
    net, inputs, labels = small(), tables(5), torch.tensor([0, 1, 1, 0, 1])
    assert layers_of(net.eval(), inputs[:1]) is None
    found = fisher_per_sample(net.train(), inputs, labels, chunk=2)
    alone = copy.deepcopy(net).eval()
    total = {name: torch.zeros_like(p) for name, p in alone.named_parameters()}
    for table, label in zip(inputs, labels, strict=True):
        alone.zero_grad()
        F.cross_entropy(alone(table[None]), label[None]).backward()
        for name, p in alone.named_parameters():
            total[name] += p.grad**2 / len(labels)
    assert found.keys() == total.keys()
    assert all(torch.allclose(found[name], total[name], rtol=1e-3, atol=1e-8) for name in total)
    assert net.training


def learning(dropout: float, after_epoch: Callable[..., object] = lambda *_: None) -> tuple[PhaseLoop, nn.Module]:
    """Two epochs of a phase of tables, ready to be learned."""
    phase = Phase("T1", (0, 1), (), ImageSet.without_cue(tables(24).byte(), torch.arange(24) % 2, torch.arange(24)))
    stream = Stream(
        name="tables",
        phases=(phase,),
        splits=(),
        pairs=(),
        cue=None,
        cover=None,
        n_outputs=2,
        class_names=("no", "yes"),
        mean=(0.0,),
        std=(1 / 255,),
        crop_padding=0,
        flip=False,
    )
    context = Context(
        seed=3,
        presentation=Presentation(stream),
        autocast=nullcontext,
        make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=0.1),
        device=torch.device("cpu"),
        phases=stream.phases,
    )
    net = small(dropout=dropout)
    learner = make_learner("sgd", {}, net, context)
    learner.begin_phase(phase)
    settings = LoopSettings(epochs=2, batch_size=8, lr=0.1)
    return PhaseLoop(learner, phase, settings, after_epoch, lambda *_: None, lambda *_: None), net


def test_an_epoch_with_dropout_depends_on_its_address_alone():
    """Whatever was drawn from the global generator before it, and between two epochs, the weights come out the same."""
    torch.manual_seed(1)
    loop, net = learning(dropout=0.5)
    loop.run()
    torch.manual_seed(2)
    loop, other = learning(dropout=0.5, after_epoch=lambda *_: torch.rand(7))
    loop.run()
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), other.parameters(), strict=True))
    loop, undropped = learning(dropout=0.0)
    loop.run()
    assert not torch.equal(undropped.head.weight, net.head.weight)  # so something was dropped
