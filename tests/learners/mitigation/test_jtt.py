"""JTT: what a short training gets wrong is shown far more often in the long one, which begins anew."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.learner import Stage
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation import jtt
from einstellung.training import LoopSettings, PhaseLoop

IDENTIFY, TRAIN = Stage("identify", 1.0), Stage("train", 3.0)


def ran_stage(learner, phase, stage, before=0, milestones=()):
    """The rows' identities of every batch."""
    seen = []
    observe = type(learner).observe
    learner.observe = lambda batch: seen.append(batch.raw.index.tolist()) or observe(learner, batch)
    learner.begin_stage(phase, stage)
    settings = LoopSettings(stage.passes, 8, 0.1, milestones=milestones, before=before)
    PhaseLoop(learner, phase, settings, lambda *_: None, lambda e: None, lambda c: None).run()
    return seen


def trained(learner, errors):
    """A learner in its second stage, with this error set."""
    learner.begin_training(None, errors)
    return learner


def test_identifying_is_plain_training_at_the_first_rate(make, tasks):
    """The schedule's steps would all lie within these epochs; the net learns as one that has just begun."""
    learner, plain = (make(name, phases=tasks) for name in ("jtt", "sgd"))
    learner.begin_phase(tasks[0])
    ran_stage(learner, tasks[0], IDENTIFY, milestones=(0.3, 0.6))
    plain.begin_phase(tasks[0])
    ran_stage(plain, tasks[0], Stage("train", 1.0))
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, plain.net.state_dict()[name]), name


def test_the_error_set_is_what_the_net_gets_wrong_in_evaluation_mode(make, tasks):
    learner = make("jtt", phases=tasks)
    learner.begin_phase(tasks[0])
    ran_stage(learner, tasks[0], IDENTIFY)
    twin, images = copy.deepcopy(learner.net).eval(), tasks[0].train
    with torch.no_grad():
        wrong = twin(learner.context.presentation.unaugmented(images)).argmax(dim=1) != images.labels
    learner.begin_stage(tasks[0], TRAIN)
    assert 0 < int(wrong.sum()) < len(wrong)
    assert torch.equal(learner.state_dict()["inferred"], wrong)


def test_the_second_training_begins_with_the_weights_of_the_phase_and_a_new_optimiser(make, batch_of, tasks):
    learner = make("jtt", phases=tasks)
    learner.begin_phase(tasks[0])
    ran_stage(learner, tasks[0], IDENTIFY)
    learner.end_phase(tasks[0])
    learner.begin_phase(tasks[1])  # from what T1 left, not from the run's beginning
    start, first = copy.deepcopy(learner.net.state_dict()), learner.optimiser
    ran_stage(learner, tasks[1], IDENTIFY)
    learner.begin_stage(tasks[1], TRAIN)
    assert learner.optimiser is not first
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, start[name]), name


def test_rounds_through_the_enlarged_set_by_hand(make, tasks):
    """36 images, 4 of them wrong, 10 times: 72 rows, which are gone through in exactly two epochs of 36 images."""
    errors = torch.zeros(36, dtype=torch.bool)
    errors[[3, 8, 20, 35]] = True
    learner = trained(make("jtt", phases=tasks, times=10), errors)
    epochs = {epoch: list(learner.batches(tasks[0], epoch, 8)) for epoch in (2, 3, 4, 5)}
    assert all([len(rows) for rows in batches] == [8, 8, 8, 8, 4] for batches in epochs.values())
    rows = {epoch: torch.cat(batches).tolist() for epoch, batches in epochs.items()}
    for pair in ((2, 3), (4, 5)):
        counts = Counter(row for epoch in pair for row in rows[epoch])
        assert counts == {row: 10 if bool(errors[row]) else 1 for row in range(36)}
    assert rows[2] + rows[3] != rows[4] + rows[5]


def test_an_epoch_goes_on_where_the_last_one_ended(make, tasks):
    """36 + 2 x 4 = 44 rows a round: 11 epochs are 9 rounds, whatever epoch a stopped run goes on with."""
    errors = torch.arange(36) < 2
    rows = []
    for epoch in range(3, 14):
        learner = trained(make("jtt", phases=tasks, times=5, identify_epochs=2), errors)
        rows += torch.cat(list(learner.batches(tasks[0], epoch, 10))).tolist()
    assert len(rows) == 11 * 36
    for begin in range(0, len(rows), 44):
        assert Counter(rows[begin : begin + 44]) == {row: 5 if row < 2 else 1 for row in range(36)}


def test_without_any_error_every_image_is_seen_once(make, tasks):
    learner = trained(make("jtt", phases=tasks), torch.zeros(36, dtype=torch.bool))
    for epoch in (2, 3):
        assert sorted(torch.cat(list(learner.batches(tasks[0], epoch, 8))).tolist()) == list(range(36))


def test_the_two_stages_of_a_phase_of_the_shapes(make, stream):
    """In the second phase, with other classes: all images once, then the wrong ones again and again."""
    t2 = stream.phases[1]
    learner = make("jtt", times=7)
    learner.begin_phase(t2)
    index = t2.train.index.tolist()
    assert sorted(i for batch in ran_stage(learner, t2, IDENTIFY) for i in batch) == sorted(index)
    seen = Counter(i for batch in ran_stage(learner, t2, TRAIN, before=1) for i in batch)
    wrong = {i for i, error in zip(index, learner.state_dict()["inferred"].tolist(), strict=True) if error}
    right = set(index) - wrong
    assert wrong
    assert right
    assert seen.total() == 3 * len(index) < 7 * len(wrong)  # so within one round
    assert max(seen[i] for i in right) <= 1
    assert sum(seen[i] for i in wrong) / len(wrong) > 2


def test_its_stages_and_costs():
    kind, sizes = learners["jtt"], [600, 300]
    options = learner_options("jtt", {"identify_epochs": 2})
    assert options.times == 100
    stages = kind.stages(options, sizes, [50, 20], 1)
    assert [(stage.name, stage.passes) for stage in stages] == [("identify", 2), ("train", 20)]
    assert all(kind.workload.share(options, sizes, 1, stage.name) == 1 for stage in stages)
    assert kind.workload.cost(options, sizes, 1) == 1
    assert not kind.shares_first_phase(options)
    assert not kind.combines
    assert jtt.enlarged(torch.tensor([True, False]), 1).tolist() == [0, 1]


@pytest.mark.parametrize("options", [{"identify_epochs": 0}, {"times": 0}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.jtt\.{next(iter(options))} is 0: it must be at least 1"):
        learner_options("jtt", options)
