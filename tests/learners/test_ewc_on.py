"""Online EWC against explicit loops."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones import build_backbone
from einstellung.errors import InputError
from einstellung.learners import make_learner
from einstellung.learners.ewc_on import EWCOptions, fisher_of_single_images, fisher_per_sample


def explicit_fisher(net, inputs, labels, training, weighted, divisor=None):
    """One backward pass per image, squares added up one parameter at a time; their mean, unless a divisor is given."""
    net = copy.deepcopy(net)
    net.train(training)
    total = {name: torch.zeros_like(p) for name, p in net.named_parameters()}
    for image, label in zip(inputs, labels, strict=True):
        net.zero_grad()
        log_p = F.log_softmax(net(image[None]), dim=1)[0, label]
        log_p.backward()
        weight = log_p.detach().exp() if weighted else 1.0
        for name, p in net.named_parameters():
            total[name] += weight * p.grad**2
    return {name: value / (divisor or len(labels)) for name, value in total.items()}


def test_fisher_per_sample_is_an_explicit_loop_in_evaluation_mode(make, batch_of, stream):
    net = make("ewc_on").net.train()
    batch = batch_of(stream.phases[0], range(20))
    net(batch.inputs)  # running statistics that differ from their start
    before = {name: value.clone() for name, value in net.state_dict().items()}
    ours = fisher_per_sample(net, batch.inputs, batch.labels, chunk=7)
    theirs = explicit_fisher(net, batch.inputs, batch.labels, training=False, weighted=False)
    for name, value in theirs.items():
        assert torch.allclose(ours[name], value, rtol=1e-4, atol=1e-9), name
        assert float(value.abs().max()) > 0
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_fisher_of_single_images_is_an_explicit_loop_in_training_mode(make, batch_of, stream):
    net = make("ewc_on").net
    batch = batch_of(stream.phases[0], range(6))
    theirs = explicit_fisher(net, batch.inputs, batch.labels, training=True, weighted=True, divisor=2 * 4)
    ours = fisher_of_single_images(net, batch.inputs.split(1), batch.labels, batch_size=4)  # a batch of 4, one of 2
    for name, value in theirs.items():
        assert torch.allclose(ours[name], value, rtol=1e-4, atol=1e-9), name


def test_mammoths_fisher_sees_every_image_once_augmented_and_fills_the_last_batch(make, stream, monkeypatch):
    """Against that framework's sum: images as training shows them, shuffled, one by one; divided by batches times their size."""
    t1, t2 = stream.phases
    size = len(t2.train) - 3  # two batches, the second of three images
    context = replace(make("sgd").context, batch_size=size)
    learner = make_learner("ewc_on", {"fisher": "mammoth", "gamma": 0.5}, make("sgd").net, context)
    learner.end_phase(t1)
    before = {name: value.clone() for name, value in learner.fisher.items()}
    net, shown, show = copy.deepcopy(learner.net), [], context.presentation.training

    def seen(images, *generators):
        shown.append((images, show(images, *generators)))
        return shown[-1][1]

    monkeypatch.setattr(context.presentation, "training", seen)
    learner.end_phase(t2)
    index, labels = (torch.cat([getattr(raw, name) for raw, _ in shown]) for name in ("index", "labels"))
    inputs = torch.cat([image for _, image in shown])
    assert all(len(raw) == 1 for raw, _ in shown)
    assert sorted(index.tolist()) == sorted(t2.train.index.tolist())
    assert index.tolist() != t2.train.index.tolist()
    plain = torch.cat([context.presentation.unaugmented(raw) for raw, _ in shown])
    assert (inputs != plain).flatten(1).any(dim=1).float().mean() > 0.5
    theirs = explicit_fisher(net, inputs, labels, training=True, weighted=True, divisor=2 * size)
    for name, value in theirs.items():
        assert torch.allclose(learner.fisher[name], 0.5 * before[name] + value, rtol=1e-4, atol=1e-9), name
    assert torch.equal(learner.anchor["conv.weight"], learner.net.conv.weight)


def test_the_two_ways_differ(make, batch_of, stream):
    net = make("ewc_on").net
    batch = batch_of(stream.phases[0], range(6))
    one = fisher_per_sample(net, batch.inputs, batch.labels)
    other = fisher_of_single_images(copy.deepcopy(net), batch.inputs.split(1), batch.labels, batch_size=6)
    assert not torch.allclose(one["head.weight"], other["head.weight"], rtol=1e-2)


def test_the_update_is_that_of_loss_plus_penalty(make, batch_of, stream):
    """Autograd over CE + lambda sum F (p - p*)^2 gives the very step."""
    learner = make("ewc_on", lr=0.01, e_lambda=30.0)
    t1, t2 = stream.phases
    learner.begin_phase(t1)
    learner.net.train()
    learner.observe(batch_of(t1))
    learner.end_phase(t1)
    learner.begin_phase(t2)
    learner.net.train()
    learner.observe(batch_of(t2))  # moves the weights away from the anchor
    twin = copy.deepcopy(learner.net)
    batch = batch_of(t2, range(8, 16))
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    for name, p in twin.named_parameters():
        loss = loss + 30.0 * (learner.fisher[name] * (p - learner.anchor[name]) ** 2).sum()
    loss.backward()
    ours = learner.observe(batch)
    assert torch.allclose(ours, loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.01 * q.grad, atol=1e-7)
    assert float(learner.latest_penalty) > 0


def test_the_first_phase_is_plain(make, batch_of, stream):
    """That is why its weights may be shared with plain fine-tuning."""
    ewc, sgd = make("ewc_on"), make("sgd")
    for learner in (ewc, sgd):
        learner.begin_phase(stream.phases[0])
        learner.net.train()
        learner.observe(batch_of(stream.phases[0]))
    for p, q in zip(ewc.net.parameters(), sgd.net.parameters(), strict=True):
        assert torch.equal(p, q)


def test_fisher_runs_on_with_gamma(make, stream):
    learner = make("ewc_on", gamma=0.25)
    t1, t2 = stream.phases
    learner.end_phase(t1)
    first = {name: value.clone() for name, value in learner.fisher.items()}
    learner.end_phase(t2)
    images = t2.train
    second = fisher_per_sample(learner.net, learner.context.presentation.unaugmented(images), images.labels)
    for name in first:
        assert torch.allclose(learner.fisher[name], 0.25 * first[name] + second[name], rtol=1e-5, atol=1e-10)


def test_fewer_images_on_request(make, stream, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "einstellung.learners.ewc_on.fisher_per_sample", lambda net, inputs, labels, **_: seen.append(len(labels)) or {}
    )
    make("ewc_on", fisher_images=10).end_phase(stream.phases[0])
    make("ewc_on").end_phase(stream.phases[0])
    assert seen == [10, len(stream.phases[0].train)]


def test_memory_survives_a_round_trip(make, stream):
    learner, other = make("ewc_on"), make("ewc_on")
    learner.end_phase(stream.phases[0])
    other.load_state_dict(learner.state_dict())
    assert all(torch.equal(value, other.fisher[name]) for name, value in learner.fisher.items())
    assert all(torch.equal(value, other.anchor[name]) for name, value in learner.anchor.items())


@pytest.mark.parametrize("options", [{"fisher": "exact"}, {"fisher_images": 0}, {"e_lambda": -1.0}, {"gamma": -0.5}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.ewc_on\.{next(iter(options))} is"):
        EWCOptions(**options)


def test_only_a_few_images_are_shown_at_a_time(make, stream, monkeypatch):
    """A phase shown at 224x224 would not fit into memory at once; what comes out is that of all images together."""
    learner = make("ewc_on")
    images = stream.phases[0].train
    presentation = learner.context.presentation
    whole = presentation.unaugmented(images)
    expected = fisher_per_sample(copy.deepcopy(learner.net), whole, images.labels)
    shown, show = [], presentation.unaugmented
    monkeypatch.setattr(presentation, "unaugmented", lambda some: shown.append(len(some)) or show(some))
    learner.end_phase(stream.phases[0])
    assert sum(shown) == len(images)
    assert max(shown) <= 32
    assert all(torch.equal(learner.fisher[name], value) for name, value in expected.items())


def test_attention_needs_no_slow_path(recwarn):
    net = build_backbone("vit", {"dim": 12, "depth": 1, "heads": 2, "patch": 4, "image": 8}, 4, seed=0)
    fisher_per_sample(net, torch.randn(5, 3, 8, 8), torch.arange(5) % 4)
    assert not [str(warning.message) for warning in recwarn if "performance drop" in str(warning.message)]
