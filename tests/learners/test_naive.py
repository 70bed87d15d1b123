"""Naive sequential training is plain fine-tuning under another name; a fresh net for every phase forgets by design."""

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


def test_scratch_starts_every_phase_with_the_weights_of_the_run(make, batch_of, tasks):
    """Running statistics included: what it learned of T2 is what it would have learned had there been no T1."""
    learner, alone = make("scratch", phases=tasks), make("scratch", phases=tasks)
    start = weights(learner)
    learn(learner, batch_of, tasks[0])
    assert not torch.equal(learner.net.bn.running_mean, start["bn.running_mean"])
    learner.end_phase(tasks[0])
    learner.begin_phase(tasks[1])
    assert all(torch.equal(value, start[name]) for name, value in weights(learner).items())
    for one in (learner, alone):
        learn(one, batch_of, tasks[1])
    theirs = weights(alone)
    assert all(torch.equal(value, theirs[name]) for name, value in weights(learner).items())
    assert learner.state_dict() == {}
