"""Domain-independent training: the head of an image's own domain learns, the mean of all is asked."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F

from einstellung.learners import Batch
from einstellung.learners.mitigation.di import DomainIndependent
from tests.learners.mitigation.points import made, one_cue, some_points, stream_of, two_cues


def batch_of(learner, images, rows):
    raw = images.take(torch.tensor(rows))
    return Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw)


def test_a_step_by_hand():
    """Each head moves by the gradient of its own images' losses over the whole batch's size; the others stay."""
    images = two_cues()
    stream = stream_of(images)
    learner = made("di", stream)
    assert isinstance(learner, DomainIndependent)
    learner.begin_phase(stream.phases[0])
    start = copy.deepcopy(learner.heads)
    rows = [0, 1, 91, 200]
    batch = batch_of(learner, images, rows)
    domains = images.features[rows].tolist()
    assert sorted(domains)[:3] == [0, 0, 1]
    learner.observe(batch)
    for domain in range(4):
        weight = start.weight[domain].detach().clone().requires_grad_()
        own = [row for row, value in enumerate(domains) if value == domain]
        if own:
            logits = batch.inputs[own].flatten(1) @ weight.T + start.bias[domain]
            (F.cross_entropy(logits, batch.labels[own], reduction="sum") / len(rows)).backward()
            torch.testing.assert_close(learner.heads.weight[domain], weight - 0.1 * weight.grad)
        assert torch.equal(learner.heads.weight[domain], weight) == (not own)


def test_the_net_says_the_mean_of_its_heads():
    images = one_cue()
    stream = stream_of(images)
    learner = made("di", stream)
    learner.begin_phase(stream.phases[0])
    learner.observe(batch_of(learner, images, list(range(80, 130))))
    inputs = learner.context.presentation.unaugmented(images)
    heads = [inputs.flatten(1) @ learner.heads.weight[d].T + learner.heads.bias[d] for d in (0, 1)]
    assert not torch.allclose(*heads)
    torch.testing.assert_close(learner.net(inputs), (heads[0] + heads[1]) / 2)


def test_with_one_known_cue_of_two_there_are_two_heads():
    stream = stream_of(two_cues())
    assert made("di", stream).heads.weight.shape == (4, 2, 3)
    assert made("di", stream, cues=["right"]).heads.weight.shape == (2, 2, 3)


def test_a_domain_takes_part_from_the_phase_on_that_has_images_of_it():
    first = some_points({(0, 0): 20, (1, 0): 20})
    stream = stream_of(first, one_cue(seed=1))
    learner = made("di", stream)
    learner.begin_phase(stream.phases[0])
    assert learner.heads.known.tolist() == [True, False]
    learner.observe(batch_of(learner, first, list(range(10, 30))))
    inputs = learner.context.presentation.unaugmented(first)
    said = learner.net(inputs)
    torch.testing.assert_close(said, inputs.flatten(1) @ learner.heads.weight[0].T + learner.heads.bias[0])
    learner.begin_phase(stream.phases[1])
    assert learner.heads.known.tolist() == [True, True]
    torch.testing.assert_close(learner.net(inputs), said)


def test_with_logits_in_memory(make, stream):
    """derpp+di: the mean of the heads is what is remembered, and every domain of the batch is still learned by its own."""
    learner = make("derpp+di", derpp={"buffer": 8, "draw": 4})
    for phase in stream.phases:
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        learner.training_mode()
        raw = phase.train.take(torch.arange(0, len(phase.train), 5))
        learner.observe(Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw))
        learner.end_phase(phase)
    assert learner.method.heads.known.tolist() == [True, True]
    assert not torch.equal(learner.method.heads.weight[0], learner.method.heads.weight[1])
