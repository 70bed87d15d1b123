"""EWC with a penalty for every earlier phase, against autograd over the formula."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.fisher import fisher_per_sample
from einstellung.learners.methods import learner_options
from einstellung.training.checkpoint import load_state, save_state


def learn(learner, batch_of, phase, rows=range(8)):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    return learner.observe(batch_of(phase, rows))


def after_two(make, batch_of, tasks, **options):
    learner = make("ewc", lr=0.01, phases=tasks, **options)
    for phase in tasks[:2]:
        learn(learner, batch_of, phase)
        learner.end_phase(phase)
    return learner


def test_the_update_is_that_of_the_loss_plus_every_phases_penalty(make, batch_of, tasks):
    """CE + lambda sum_s sum_i F_s (p - p*_s)^2, the Fisher information taken anew from the weights at each phase's end."""
    learner = make("ewc", lr=0.01, e_lambda=30.0, phases=tasks)
    past = []
    for phase in tasks[:2]:
        learn(learner, batch_of, phase)
        net, images = copy.deepcopy(learner.net), phase.train
        fisher = fisher_per_sample(net, learner.context.presentation.unaugmented(images), images.labels)
        past.append((fisher, {name: value.detach().clone() for name, value in net.named_parameters()}))
        learner.end_phase(phase)
    learn(learner, batch_of, tasks[2])
    twin, batch = copy.deepcopy(learner.net), batch_of(tasks[2], range(8, 16))
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    for fisher, anchor in past:
        penalty = sum((fisher[name] * (p - anchor[name]) ** 2).sum() for name, p in twin.named_parameters())
        assert float(penalty.detach()) > 0
        loss = loss + 30.0 * penalty
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.01 * theirs.grad, atol=1e-7)


def test_the_first_phase_is_plain(make, batch_of, tasks):
    ewc, plain = make("ewc", phases=tasks), make("sgd", phases=tasks)
    losses = [learn(one, batch_of, tasks[0]) for one in (ewc, plain)]
    assert torch.equal(*losses)
    for ours, theirs in zip(ewc.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_fewer_images_on_request(make, tasks, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "einstellung.learners.ewc.fisher_per_sample", lambda net, shown, labels, **_: seen.append(len(labels)) or {}
    )
    make("ewc", fisher_images=10, phases=tasks).end_phase(tasks[0])
    make("ewc", phases=tasks).end_phase(tasks[0])
    assert seen == [10, len(tasks[0].train)]


def test_memory_survives_a_file_and_its_order_does_not_matter(make, batch_of, tasks, tmp_path):
    learner = after_two(make, batch_of, tasks, e_lambda=30.0)
    state = load_state(save_state(tmp_path / "state.safetensors", learner.state_dict()))
    state = {key: dict(reversed(kept.items())) for key, kept in state.items()}
    other = make("ewc", lr=0.01, e_lambda=30.0, phases=tasks)
    other.net.load_state_dict(learner.net.state_dict())
    other.load_state_dict(state)
    for one in (learner, other):
        for start in (0, 8):
            learn(one, batch_of, tasks[2], range(start, start + 8))
    for ours, theirs in zip(learner.net.parameters(), other.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_larger_lambda_holds_the_weights_faster(make, batch_of, tasks):
    """As far as they matter: the weighted distance to the first phase's end."""

    def moved(e_lambda):
        learner = after_two(make, batch_of, tasks, e_lambda=e_lambda)
        for start in (0, 8, 16):
            learn(learner, batch_of, tasks[2], range(start, start + 8))
        fisher, anchor, now = learner.fishers["T2"], learner.anchors["T2"], learner.net.state_dict()
        return sum(float((fisher[name] * (now[name] - anchor[name]) ** 2).sum()) for name in anchor)

    assert moved(100.0) < moved(1.0)


@pytest.mark.parametrize("options", [{"e_lambda": -1}, {"fisher_images": 0}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.ewc\.{next(iter(options))} is"):
        learner_options("ewc", options)
    assert learner_options("ewc", {}).e_lambda == 1.0
