"""A-GEM: the projection from explicit vectors, and what its memory holds."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator
from einstellung.streams import Presentation


def in_the_second_phase(make, stream, **options):
    learner = make("agem", **{"buffer": 24, "draw": 6, **options})
    for phase in stream.phases:
        learner.begin_phase(phase)
    learner.begin_epoch(stream.phases[1], 1)
    learner.training_mode()
    return learner


def flat_gradient(net, inputs, labels):
    net.zero_grad()
    F.cross_entropy(net(inputs), labels).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


@pytest.mark.parametrize("conflicting", [True, False])
def test_one_step_is_the_projection_of_one_long_vector(make, batch_of, stream, conflicting):
    """With labels that the memory contradicts, and with its own."""
    learner = in_the_second_phase(make, stream)
    t2 = stream.phases[1]
    draws, augmentation, cue = (
        generator(learner.context.seed, name, "T2", 1) for name in ("replay", "replay-augmentation", "replay-cue")
    )
    images = learner.memory.take(torch.randperm(len(learner.memory), generator=draws)[:6])
    inputs = learner.context.presentation.training(images, augmentation, cue)
    batch = batch_of(t2, range(8))
    if not conflicting:
        batch = type(batch)(inputs, images.labels, images)
    twin = copy.deepcopy(learner.net)
    g = flat_gradient(twin, batch.inputs, batch.labels)
    r = flat_gradient(twin, inputs, images.labels)
    assert (float(g @ r) < 0) is conflicting
    if conflicting:
        g = g - (g @ r) / (r @ r) * r
        assert abs(float(g @ r)) < 1e-5
    start = torch.cat([p.detach().flatten() for p in learner.net.parameters()])
    learner.observe(batch)
    end = torch.cat([p.detach().flatten() for p in learner.net.parameters()])
    assert torch.allclose(end, start - 0.1 * g, atol=1e-6)
    assert torch.allclose(learner.net.bn.running_mean, twin.bn.running_mean), "the draw has its own batch statistics"


def test_the_memory_is_balanced_over_the_classes_of_earlier_phases(make, tasks):
    learner = make("agem", phases=tasks, buffer=20, draw=4)
    learner.begin_phase(tasks[0])
    assert learner.memory is None
    for number, each in ((1, {10}), (2, {5})):
        learner.begin_phase(tasks[number])
        held = Counter(
            (index // 100, label)
            for index, label in zip(learner.memory.index.tolist(), learner.memory.labels.tolist(), strict=True)
        )
        assert set(held.values()) == each
        assert {phase for phase, _ in held} == set(range(number))


def test_the_memory_s_loss_does_not_rise(make, batch_of, stream):
    """With the whole memory as the draw and small steps, in evaluation mode; plain training raises it."""

    def on_memory(learner, memory):
        inputs = learner.context.presentation.unaugmented(memory)
        with torch.no_grad():
            return float(F.cross_entropy(learner.net.eval()(inputs), memory.labels))

    rise = {}
    for name in ("agem", "sgd"):
        options = {"buffer": 24, "draw": 24} if name == "agem" else {}
        learner = make(name, lr=0.05, **options)
        plain = replace(stream, crop_padding=0, flip=False)
        learner.context = replace(learner.context, presentation=Presentation(plain))
        t1, t2 = stream.phases
        learner.begin_phase(t1)
        for _ in range(10):
            learner.observe(batch_of(t1, range(48)))
        learner.begin_phase(t2)
        learner.begin_epoch(t2, 1)
        if name == "agem":
            memory = learner.memory
        learner.net.eval()
        before = on_memory(learner, memory)
        for _ in range(10):
            learner.observe(batch_of(t2, range(24)))
        rise[name] = on_memory(learner, memory) - before
    assert rise["agem"] < 1e-3 < rise["sgd"]


def test_what_is_refused():
    for key in ("buffer", "draw"):
        with pytest.raises(InputError, match=rf"learners\.agem\.{key} is 0"):
            learner_options("agem", {key: 0})
