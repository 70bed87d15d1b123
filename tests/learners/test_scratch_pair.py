"""A new net for two neighbouring phases: first the one before, then the current one, and nothing of what came earlier."""

from __future__ import annotations

import torch

from einstellung.learners import Stage
from einstellung.learners.scratch_pair import PREVIOUS, ScratchPair

from .test_naive import weights


def test_it_begins_every_phase_anew_and_learns_the_phase_before_first(make, tasks):
    learner = make("scratch_pair", phases=tasks)
    start = weights(learner)
    with torch.no_grad():
        learner.net.bn.running_mean.add_(1)
    learner.begin_phase(tasks[1])
    assert all(torch.equal(value, start[name]) for name, value in weights(learner).items())
    assert learner.sources(tasks[1]) == (tasks[1],)
    learner.begin_stage(tasks[1], Stage(PREVIOUS, 1.0))
    own = learner.optimiser
    assert learner.sources(tasks[1])[0] is tasks[0]
    learner.begin_stage(tasks[1], Stage("train", 1.0))
    assert learner.sources(tasks[1])[0] is tasks[1]
    assert learner.optimiser is not own  # each part has its own, as a phase has
    assert learner.state_dict() == {}


def test_its_stages_have_the_epochs_of_both_phases():
    stages = ScratchPair.stages(None, [10, 20, 40], [3, 5, 7], 2)
    assert [(stage.passes, stage.preparatory) for stage in stages] == [(5.0, True), (7.0, False)]
    assert [stage.passes for stage in ScratchPair.stages(None, [10, 20], [3, 5], 0)] == [3.0]
    assert ScratchPair.shares_first_phase(None)


def test_the_work_of_a_phase_is_that_of_both():
    workload = ScratchPair.workload
    parts = ScratchPair.stages(None, [10, 20, 40], [3, 5, 7], 2)
    work = 40 * sum(one.passes * workload.share(None, [10, 20, 40], 2, one.name) for one in parts)
    assert work == 5 * 20 + 7 * 40
