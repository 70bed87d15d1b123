"""Naive sequential training is plain fine-tuning under another name."""

from __future__ import annotations

import pytest
import torch

from einstellung.learners import FineTuning, learners


def weights(learner):
    return {name: value.clone() for name, value in learner.net.state_dict().items()}


def learn(learner, batch_of, phase):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    learner.observe(batch_of(phase))


def test_naive_is_plain_fine_tuning_in_every_phase(make, batch_of, tasks):
    naive, plain = make("naive", phases=tasks), make("sgd", phases=tasks)
    assert isinstance(naive, FineTuning)
    for phase in tasks:
        for learner in (naive, plain):
            learn(learner, batch_of, phase)
            learner.end_phase(phase)
        ours, theirs = weights(naive), weights(plain)
        assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


@pytest.mark.parametrize("name", ["naive", "scratch"])
def test_the_first_phase_is_shared_with_plain_fine_tuning(make, batch_of, tasks, name):
    assert learners[name].shares_first_phase(None)
    learner, plain = make(name, phases=tasks), make("sgd", phases=tasks)
    for one in (learner, plain):
        learn(one, batch_of, tasks[0])
    theirs = weights(plain)
    assert all(torch.equal(value, theirs[name]) for name, value in weights(learner).items())
