"""DER++: its loss by hand, what it remembers, and that the past comes back with its cue."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.derpp import DERppOptions
from einstellung.randomness import generator


def begun(make, batch_of, stream, phase=1, **options):
    learner = make("derpp", buffer=6, draw=4, **options)
    learner.begin_phase(stream.phases[phase])
    learner.begin_epoch(stream.phases[phase], 1)
    learner.net.train()
    return learner


def test_the_first_step_is_plain_and_fills_the_buffer(make, batch_of, stream):
    learner = begun(make, batch_of, stream)
    batch = batch_of(stream.phases[1], range(5))
    with torch.no_grad():
        logits = copy.deepcopy(learner.net)(batch.inputs)
    loss = learner.observe(batch)
    assert torch.allclose(loss, F.cross_entropy(logits, batch.labels))
    assert torch.equal(learner.buffer.images.index[:5], batch.raw.index)
    assert torch.allclose(learner.buffer.logits[:5], logits)  # logits from before the step


def test_the_loss_by_hand(make, batch_of, stream):
    alpha, beta = 0.3, 0.7
    learner = begun(make, batch_of, stream, alpha=alpha, beta=beta)
    phase = stream.phases[1]
    learner.observe(batch_of(phase, range(6)))
    twin, buffer = copy.deepcopy(learner.net), copy.deepcopy(learner.buffer)
    batch = batch_of(phase, range(6, 12))

    seed, presentation = learner.context.seed, learner.context.presentation
    draws = generator(seed, "replay", "T2", 1)
    augmentation, cue = generator(seed, "replay-augmentation", "T2", 1), generator(seed, "replay-cue", "T2", 1)
    first, logits = buffer.draw(4, draws)
    first_inputs = presentation.training(first, augmentation, cue)
    second, _ = buffer.draw(4, draws)
    second_inputs = presentation.training(second, augmentation, cue)
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    loss = loss + alpha * ((twin(first_inputs) - logits) ** 2).mean()
    loss = loss + beta * F.cross_entropy(twin(second_inputs), second.labels)
    loss.backward()

    ours = learner.observe(batch)
    assert torch.allclose(ours, loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_what_is_replayed_carries_its_cue(make, batch_of, stream):
    learner = begun(make, batch_of, stream)
    train = stream.phases[1].train
    bearing = train.bears.nonzero().flatten()[:6]
    learner.buffer.add(train.take(bearing), torch.zeros(6, stream.n_outputs), generator(0, "slots"))
    inputs, labels, _ = learner.replay()
    magenta = learner.context.presentation.normalised(
        torch.tensor([255, 0, 255], dtype=torch.uint8).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    )
    assert torch.equal(inputs[:, :, :4, :4], magenta.expand(4, -1, -1, -1))
    assert set(labels.tolist()) <= set(stream.phases[1].cue_classes)


def test_replay_differs_from_plain_training_in_the_first_phase_too(make, batch_of, stream):
    """That is why its first phase is its own."""
    assert not type(make("derpp")).plain_history
    learner, plain = begun(make, batch_of, stream, phase=0), make("sgd")
    plain.begin_phase(stream.phases[0])
    plain.net.train()
    for rows in (range(4), range(4, 8)):
        learner.observe(batch_of(stream.phases[0], rows))
        plain.observe(batch_of(stream.phases[0], rows))
    assert not torch.allclose(learner.net.head.weight, plain.net.head.weight)


def test_wrong_options_are_named():
    with pytest.raises(InputError, match=r"learners\.derpp\.buffer"):
        DERppOptions(buffer=0)
