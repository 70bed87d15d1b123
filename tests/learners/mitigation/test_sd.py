"""Spectral decoupling: its gradient on the logits by hand, and a weak feature that plain training leaves to a strong one."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.errors import InputError
from einstellung.learners import Batch, make_learner
from einstellung.learners.mitigation.sd import SpectralDecoupling


@pytest.mark.parametrize(("logits", "entries"), [("all", "every"), ("label", "own")])
def test_the_gradient_is_plain_trainings_and_that_of_the_price(make, logits, entries):
    """d/df of .1 mean f^2 is .2 f / (N K); of .1 mean_i f_iy^2 it is .2 f_iy / N on the own class's logit, else 0."""
    values = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, -2.0]])
    given = nn.Parameter(values.clone())
    net = nn.Module()
    net.logits = given
    net.forward = lambda _: given
    learner = make_learner("sd", {"logits": logits}, net, make("erm").context)
    labels = torch.tensor([0, 2])
    learner.objective(Batch(values, labels, None)).backward()
    plain = values.softmax(dim=1)
    plain[0, 0] -= 1
    plain[1, 2] -= 1
    plain /= 2
    if entries == "every":
        price = 0.2 * values / 6
    else:
        price = torch.zeros(2, 3)
        price[0, 0], price[1, 2] = 0.2 * 2.0 / 2, 0.2 * -2.0 / 2
    assert torch.allclose(given.grad, plain + price, atol=1e-6)


def test_the_step_by_hand(make, batch_of, stream):
    phase = stream.phases[0]
    learner = make("sd", strength=0.7)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    twin, batch = copy.deepcopy(learner.net), batch_of(phase)
    logits = twin(batch.inputs)
    loss = F.cross_entropy(logits, batch.labels) + 0.7 * (logits**2).sum() / (8 * stream.n_outputs)
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_a_weak_feature_is_learned_next_to_a_strong_one(make, stream):
    """Both features always tell the class; the strong one's size varies, the weak one's does not.

    Plain training takes them in proportion to how large they are, so that it follows the strong one where the two contradict
    each other. With a price on logits, all images end at the same margin, which the steady feature alone can give.
    """
    sign = torch.tensor([1.0, -1.0]).repeat(4)
    strong = torch.tensor([0.5, 0.5, 2.0, 2.0]).repeat(2)
    inputs = torch.stack((sign * strong, 0.3 * sign), dim=1)
    labels = (sign > 0).long()
    contradicting = inputs * torch.tensor([-1.0, 1.0])
    correct = {}
    for name in ("erm", "sd"):
        net = nn.Linear(2, 2)
        nn.init.zeros_(net.weight)
        nn.init.zeros_(net.bias)
        learner = make_learner(name, {}, net, make(name, lr=2.0).context)
        learner.begin_phase(stream.phases[0])
        for _ in range(500):
            learner.observe(Batch(inputs, labels, None))
        assert bool((net(inputs).argmax(dim=1) == labels).all())
        correct[name] = float((net(contradicting).argmax(dim=1) == labels).float().mean())
    assert correct["erm"] == 0.0
    assert correct["sd"] == 1.0


def test_wrong_options_are_named(make):
    with pytest.raises(InputError, match=r"learners\.sd\.strength is -1\.0: it must be at least 0"):
        make("sd", strength=-1.0)
    with pytest.raises(InputError, match=r"learners\.sd\.logits is 'some'"):
        make("sd", logits="some")
    assert type(make("sd")) is SpectralDecoupling
