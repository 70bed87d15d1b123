"""A new net for every phase forgets by design."""

from __future__ import annotations

import torch

from .test_naive import learn, weights


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
