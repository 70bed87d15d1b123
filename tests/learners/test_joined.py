"""Batch and replayed images in one pass: the same loss and gradient, but for the statistics of batch norm."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.backbones import VisionTransformer
from einstellung.learners import make_learner
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator

WEIGHTS = {"der": {"alpha": 0.7}, "derpp": {"alpha": 0.7, "beta": 0.4}}


def in_second_step(learner, batch_of, phase):
    """A learner whose buffer holds six images."""
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    learner.observe(batch_of(phase, range(6)))
    return learner


def drawn(learner, phase, times):
    """What the next step replays, as inputs, labels and logits of each draw."""
    seed, buffer = learner.context.seed, copy.deepcopy(learner.buffer)
    names = ("replay", "replay-augmentation", "replay-cue")
    draws, augmentation, cue = (generator(seed, name, phase.name, 1) for name in names)
    found = []
    for _ in range(times):
        images, logits = buffer.draw(4, draws)
        found.append((learner.context.presentation.training(images, augmentation, cue), images.labels, logits))
    return found


@pytest.mark.parametrize("method", WEIGHTS)
def test_without_batch_norm_the_step_is_the_same(make, batch_of, stream, method):
    phase = stream.phases[1]
    torch.manual_seed(0)
    start = VisionTransformer(stream.n_outputs, dim=8, depth=1, heads=2, image=12)
    context = make("sgd").context
    losses, nets = [], []
    for joined in (False, True):
        options = {"buffer": 6, "draw": 4, "joined": joined, **WEIGHTS[method]}
        learner = in_second_step(make_learner(method, options, copy.deepcopy(start), context), batch_of, phase)
        losses.append(float(learner.observe(batch_of(phase, range(6, 12)))))
        nets.append(learner.net)
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for (name, one), other in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5), name
        assert not torch.equal(one, start.get_parameter(name)), name


@pytest.mark.parametrize("method", WEIGHTS)
def test_batch_norm_sees_all_images_together(make, batch_of, stream, method):
    """Loss, update and running statistics by hand, and the logits that the buffer then keeps."""
    phase, weights = stream.phases[1], WEIGHTS[method]
    learner = in_second_step(make(method, buffer=6, draw=4, joined=True, **weights), batch_of, phase)
    twin = copy.deepcopy(learner.net)
    draws = drawn(learner, phase, times=len(weights))
    batch = batch_of(phase, range(6, 12))

    before = twin.bn.running_mean.clone()
    together = torch.cat([batch.inputs, *(inputs for inputs, _, _ in draws)])
    logits = twin(together)
    loss = F.cross_entropy(logits[:6], batch.labels) + 0.7 * F.mse_loss(logits[6:10], draws[0][2])
    if method == "derpp":
        loss = loss + 0.4 * F.cross_entropy(logits[10:], draws[1][1])
    loss.backward()

    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    assert torch.allclose(learner.net.bn.running_mean, twin.bn.running_mean)
    assert int(learner.net.bn.num_batches_tracked) == 2  # one pass a step
    assert not torch.allclose(learner.net.bn.running_mean, before)
    taken = torch.isin(learner.buffer.images.index, batch.raw.index)
    assert bool(taken.any())
    for index, kept in zip(learner.buffer.images.index[taken], learner.buffer.logits[taken], strict=True):
        assert torch.allclose(kept, logits[:6][batch.raw.index == index][0], atol=1e-5)


@pytest.mark.parametrize("method", WEIGHTS)
def test_one_after_the_other_is_the_default(method):
    assert learner_options(method, {}).joined is False
