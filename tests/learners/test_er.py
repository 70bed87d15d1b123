"""Experience replay: batch and past in one forward pass, the mean of their cross entropies."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F

from einstellung.randomness import generator


def test_the_step_by_hand(make, batch_of, stream):
    """(|B| CE(B) + |B'| CE(B')) / (|B| + |B'|), with batch norm over both, and a draw that is smaller than the batch."""
    phase = stream.phases[1]
    learner = make("er", buffer=6, draw=4)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    learner.observe(batch_of(phase, range(6)))
    twin, buffer = copy.deepcopy(learner.net), copy.deepcopy(learner.buffer)
    batch = batch_of(phase, range(6, 12))

    seed = learner.context.seed
    past, _ = buffer.draw(4, generator(seed, "replay", "T2", 1))
    inputs = learner.context.presentation.training(
        past, generator(seed, "replay-augmentation", "T2", 1), generator(seed, "replay-cue", "T2", 1)
    )
    logits = twin(torch.cat([batch.inputs, inputs]))
    present, replayed = F.cross_entropy(logits[:6], batch.labels), F.cross_entropy(logits[6:], past.labels)
    loss = (6 * present + 4 * replayed) / 10
    loss.backward()

    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    for name, value in twin.named_buffers():
        assert torch.allclose(value, learner.net.get_buffer(name)), name


def test_only_the_present_enters_the_buffer(make, batch_of, stream):
    """What was replayed is not seen a second time."""
    phase = stream.phases[0]
    learner = make("er", buffer=50, draw=4)
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    for start in (0, 8, 16):
        learner.observe(batch_of(phase, range(start, start + 8)))
    assert learner.buffer.seen == 24
    assert learner.buffer.images.index[:24].tolist() == phase.train.index[:24].tolist()
    assert learner.buffer.images.labels[:24].tolist() == phase.train.labels[:24].tolist()
