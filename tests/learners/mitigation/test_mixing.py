"""Mixup and CutMix: the step by hand, what lambda is, and plain training where nothing is mixed."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.mitigation import cutmix, mixing, mixup
from einstellung.randomness import generator

METHODS = {"mixup": mixup.Mixup, "cutmix": cutmix.CutMix}


def begun(learner, phase):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    return learner


def updated(net, loss, lr=0.1):
    """The weights after one step of plain gradient descent."""
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    return [p.detach() - lr * g for p, g in zip(net.parameters(), gradients, strict=True)]


@pytest.mark.parametrize("method", METHODS)
def test_the_step_by_hand(make, batch_of, stream, method):
    """Every image with the one before it, image by image, under a label of two classes."""
    phase = stream.phases[0]
    learner = begun(make(method, alpha=1.0), phase)
    batch, twin = batch_of(phase), copy.deepcopy(learner.net)
    draws = generator(learner.context.seed, method, phase.name, 1)
    share = float(mixing.dirichlet(learner.options.alpha, 2, 1, draws)[0, 0])
    if method == "mixup":
        images = [share * batch.inputs[i] + (1 - share) * batch.inputs[i - 1] for i in range(8)]
        kept = share
        assert 0.05 < share < 0.95
    else:
        row, col = (int(torch.randint(12, (), generator=draws)) for _ in range(2))
        half = int(0.5 * (1 - share) ** 0.5 * 12)
        box = torch.zeros(12, 12, dtype=torch.bool)
        for y in range(row - half, row + half):
            for x in range(col - half, col + half):
                if 0 <= y < 12 and 0 <= x < 12:
                    box[y, x] = True
        images = [torch.where(box, batch.inputs[i - 1], batch.inputs[i]) for i in range(8)]
        kept = 1 - float(box.double().mean())
        assert 0 < kept < 1  # otherwise this test would see nothing
    labels = torch.zeros(8, stream.n_outputs)
    for i in range(8):
        labels[i, batch.labels[i]] += kept
        labels[i, batch.labels[i - 1]] += 1 - kept
    loss = -(labels * twin(torch.stack(images)).log_softmax(dim=1)).sum(dim=1).mean()
    wanted = updated(twin, loss)
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), wanted, strict=True):
        assert torch.allclose(p, q, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_with_lambda_one_the_step_is_plain_trainings(make, batch_of, stream, monkeypatch, method):
    monkeypatch.setattr(mixing, "dirichlet", lambda *_: torch.tensor([[1.0, 0.0]], dtype=torch.float64))
    phase = stream.phases[0]
    mixed, plain = (begun(make(name), phase) for name in (method, "erm"))
    assert type(mixed) is METHODS[method]
    assert float(mixed.observe(batch_of(phase))) == float(plain.observe(batch_of(phase)))
    for p, q in zip(mixed.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(p, q)


def test_shares_have_the_moments_of_their_distribution():
    """Beta(a, a) has mean 1/2 and variance 1 / (4 (2a + 1)); of Dirichlet(1) with 3 shares, 1/3 and 1/18."""
    draws = torch.Generator().manual_seed(0)
    for alpha in (0.1, 1.0):
        share = mixing.dirichlet(alpha, 2, 40000, draws)[:, 0]
        assert float(share.mean()) == pytest.approx(0.5, abs=0.01)
        assert float(share.var()) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.02)
    thirds = mixing.dirichlet(1.0, 3, 40000, draws)
    assert thirds.sum(dim=1).tolist() == pytest.approx([1.0] * 40000)
    assert thirds.mean(dim=0).tolist() == pytest.approx([1 / 3] * 3, abs=0.01)
    assert thirds.var(dim=0).tolist() == pytest.approx([1 / 18] * 3, rel=0.04)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_what_cutmix_keeps_is_what_lambda_becomes(make, share):
    """Counted in pixels, over many places, on images that are not square."""
    learner = make("cutmix")
    inputs = torch.zeros(2, 3, 10, 14)
    inputs[1] = 1.0
    draws = torch.Generator().manual_seed(0)
    shares = set()
    for _ in range(40):
        mixed, kept = learner.mixed(inputs, share, draws)
        assert float((mixed[0] == 0).double().mean()) == pytest.approx(kept)
        assert float((mixed[1] == 1).double().mean()) == pytest.approx(kept)
        assert kept >= share - 1e-9  # a box is never larger than asked for
        shares.add(round(kept, 6))
    assert len(shares) > 1 or share in (0.9, 1.0)  # at the edges boxes are cut off


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, -1.0])
def test_a_wrong_alpha_is_named(make, method, alpha):
    with pytest.raises(InputError, match=rf"learners\.{method}\.alpha is .*: it must be above 0"):
        make(method, alpha=alpha)


def test_images_of_one_class_keep_their_label(make, batch_of, stream):
    """Then the loss is that of the mixed images under the one label."""
    phase = stream.phases[0]
    learner = begun(make("mixup", alpha=1.0), phase)
    batch = batch_of(phase, range(4))
    assert len(batch.labels.unique()) == 1
    share = float(mixing.dirichlet(1.0, 2, 1, generator(7, "mixup", "T1", 1))[0, 0])
    inputs = share * batch.inputs + (1 - share) * batch.inputs[[3, 0, 1, 2]]
    wanted = F.cross_entropy(copy.deepcopy(learner.net)(inputs), batch.labels)
    assert torch.allclose(learner.observe(batch), wanted.detach(), rtol=1e-5)
