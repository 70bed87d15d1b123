"""DER: cross entropy on the present, distance of the logits on the past."""

from __future__ import annotations

import copy

import torch

from einstellung.learners.der import DEROptions
from einstellung.randomness import generator


def test_the_step_by_hand(make, batch_of, stream):
    """-log p(y | x) averaged over the batch + alpha (f(x') - z')^2 averaged over images and outputs."""
    alpha, phase = 0.7, stream.phases[1]
    learner = make("der", buffer=6, draw=4, alpha=alpha)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    learner.observe(batch_of(phase, range(6)))
    twin, buffer = copy.deepcopy(learner.net), copy.deepcopy(learner.buffer)
    batch = batch_of(phase, range(6, 12))

    seed = learner.context.seed
    past, logits = buffer.draw(4, generator(seed, "replay", "T2", 1))
    inputs = learner.context.presentation.training(
        past, generator(seed, "replay-augmentation", "T2", 1), generator(seed, "replay-cue", "T2", 1)
    )
    present = -twin(batch.inputs).log_softmax(dim=1)[torch.arange(6), batch.labels].sum() / 6
    replayed = ((twin(inputs) - logits) ** 2).sum() / (4 * stream.n_outputs)
    loss = present + alpha * replayed
    loss.backward()

    assert float(replayed.detach()) > 1e-3  # the second term matters
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_the_default_weight_is_the_specified_one():
    assert (DEROptions().buffer, DEROptions().alpha) == (500, 0.3)
