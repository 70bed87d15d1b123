"""BGS: a buffer in which no spurious feature tells the class, and a last layer that sees nothing else."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from einstellung.errors import InputError
from einstellung.learners import learners, make_learner
from einstellung.learners.learner import Stage
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator
from einstellung.training import LoopSettings, PhaseLoop

BALANCE = Stage("balance", 1.0)


def begun(learner, phase, epoch=1):
    learner.begin_phase(phase)
    learner.begin_stage(phase, Stage("train", 1.0))
    learner.training_mode()
    learner.begin_epoch(phase, epoch)
    return learner


def run_stage(learner, phase, stage, size=8, before=0):
    """The raw images of every batch, and the counts heard."""
    seen, counts, effective = [], [], []
    observe = type(learner).observe
    learner.observe = lambda batch: seen.append(batch) or observe(learner, batch)
    learner.begin_stage(phase, stage)
    settings = LoopSettings(stage.passes, size, 0.1, milestones=(0.5,), before=before)
    nothing, before = (lambda e: None), before * len(phase.train)
    PhaseLoop(learner, phase, settings, lambda _, e: effective.append(e), nothing, counts.append, before).run()
    return seen, counts, effective


def groups_of(images):
    return Counter(zip(images.labels.tolist(), images.spurious().tolist(), strict=True))


def supply(phases):
    return sum((groups_of(phase.train) for phase in phases), Counter())


def assert_even(held, offered):
    most = max(held.values())
    assert set(held) == set(offered)
    for group, count in held.items():
        assert count >= most - 1 or count == offered[group], (held, offered)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("buffer", [24, 50])
def test_the_buffer_is_balanced_over_class_and_features(make, tasks, number, buffer):
    learner = make("bgs", buffer=buffer, last_layer_epochs=1, phases=tasks)
    learner.begin_phase(tasks[number])
    (batch,), _, _ = run_stage(learner, tasks[number], BALANCE, size=buffer)
    offered = supply(tasks[: number + 1])
    assert len(batch.raw) == min(buffer, offered.total())
    assert_even(groups_of(batch.raw), offered)


def test_uneven_groups_where_supply_allows_no_more(make, tasks):
    """Nine in ten images of T1 have the first feature with class 1: the few others are all kept."""
    labels = torch.arange(36) % 2
    features = labels.clone()
    features[:3] = torch.tensor([1, 0, 1])  # two of class 0 with the feature, one of class 1 without it
    t1 = replace(tasks[0], train=replace(tasks[0].train, features=features))
    learner = make("bgs", buffer=16, last_layer_epochs=1, phases=(t1, *tasks[1:]))
    learner.begin_phase(t1)
    (batch,), _, _ = run_stage(learner, t1, BALANCE, size=16)
    held = groups_of(batch.raw)
    assert held[0, 1] == 2
    assert held[1, 0] == 1
    assert sorted((held[0, 0], held[1, 1])) == [6, 7]


def test_with_a_planted_cue_the_groups_follow_it(make, stream):
    t2 = stream.phases[1]
    learner = make("bgs", buffer=80, last_layer_epochs=1)
    learner.begin_phase(t2)
    (batch,), _, _ = run_stage(learner, t2, BALANCE, size=80)
    assert t2.train.features is None
    assert bool(batch.raw.has_cue.any())
    assert not bool(batch.raw.has_cue.all())
    assert_even(groups_of(batch.raw), supply(stream.phases))


def test_a_phase_is_learned_with_a_draw_of_the_earlier_ones(make, batch_of, tasks):
    """As in ER: batch and draw in one pass, the mean of all their cross entropies."""
    learner = begun(make("bgs", buffer=10, draw=4, phases=tasks), tasks[2])
    twin, batch, seed = copy.deepcopy(learner.net), batch_of(tasks[2]), learner.context.seed
    kept = learner._past
    assert len(kept) == 10
    assert set((kept.index // 100).tolist()) == {0, 1}  # T1 and T2, not the phase itself
    past = kept.take(torch.randperm(10, generator=generator(seed, "replay", "T3", 1))[:4])
    shown = learner.context.presentation.training(
        past, generator(seed, "replay-augmentation", "T3", 1), generator(seed, "replay-cue", "T3", 1)
    )
    loss = F.cross_entropy(twin(torch.cat((batch.inputs, shown))), torch.cat((batch.labels, past.labels)))
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.1 * theirs.grad, atol=1e-6)


def test_the_first_phase_has_nothing_to_replay(make, batch_of, tasks):
    learner, plain = make("bgs", phases=tasks), make("sgd", phases=tasks)
    for one in (begun(learner, tasks[0]), begun(plain, tasks[0])):
        one.observe(batch_of(tasks[0]))
    for ours, theirs in zip(learner.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert learners["bgs"].shares_first_phase(learner_options("bgs", {"last_layer_epochs": 0}))
    assert not learners["bgs"].shares_first_phase(learner_options("bgs", {}))


def test_balancing_moves_the_last_layer_alone(make, batch_of, tasks):
    learner = begun(make("bgs", buffer=12, last_layer_epochs=3, phases=tasks), tasks[1])
    learner.observe(batch_of(tasks[1]))
    before = copy.deepcopy(learner.net.state_dict())
    run_stage(learner, tasks[1], BALANCE)
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, before[name]) != name.startswith("head"), name


def test_a_step_of_the_last_layer_by_hand(make, tasks):
    """Batch norm with its running statistics; the rate is the study's first one, although a milestone has passed."""
    learner = begun(make("bgs", buffer=12, last_layer_epochs=1, phases=tasks), tasks[0])
    twin = copy.deepcopy(learner.net).eval()
    (batch,), _, _ = run_stage(learner, tasks[0], BALANCE, size=12)
    F.cross_entropy(twin(batch.inputs), batch.labels).backward()
    for name in ("weight", "bias"):
        theirs = twin.head.get_parameter(name)
        assert torch.allclose(learner.net.head.get_parameter(name), theirs - 0.1 * theirs.grad, atol=1e-7)


def test_balancing_is_one_epoch_that_goes_through_the_buffer_again_and_again(make, tasks):
    learner = begun(make("bgs", buffer=20, last_layer_epochs=3, phases=tasks), tasks[1])
    seen, counts, effective = run_stage(learner, tasks[1], BALANCE, size=8, before=2)
    assert [len(batch.labels) for batch in seen] == [8, 8, 4] * 3
    passes = [torch.cat([batch.raw.index for batch in seen[start : start + 3]]) for start in (0, 3, 6)]
    assert passes[0].tolist() != passes[1].tolist()
    assert len({tuple(sorted(one.tolist())) for one in passes}) == 1
    own = int((passes[0] >= 100).sum())
    assert 0 < own < 20
    assert sum((Counter(count) for count in counts), Counter()) == {"T1": 3 * (20 - own), "T2": 3 * own}
    assert effective == pytest.approx([2 + 3 * own / 36])


def test_the_next_phase_learns_the_whole_net_again(make, batch_of, tasks):
    learner = begun(make("bgs", buffer=12, last_layer_epochs=1, phases=tasks), tasks[0])
    run_stage(learner, tasks[0], BALANCE)
    begun(learner, tasks[1])
    assert learner.sources(tasks[1]) == (tasks[1],)
    assert learner.net.training
    before = learner.net.conv.weight.clone()
    learner.observe(batch_of(tasks[1]))
    assert not torch.equal(learner.net.conv.weight, before)
    assert learner.state_dict() == {}


def test_its_stages_and_costs():
    kind, sizes = learners["bgs"], [6000, 6000, 3000]
    options = learner_options("bgs", {"last_layer_epochs": 30})
    for number in range(3):
        train, balance = kind.stages(options, sizes, [50, 50, 20], number)
        assert (train.name, train.passes) == ("train", [50, 50, 20][number])
        assert kind.workload.share(options, sizes, number) == 1
        assert (balance.name, balance.passes) == ("balance", 1)
        share = kind.workload.share(options, sizes, number, "balance")
        assert share * sizes[number] * (number + 1) == pytest.approx(30 * 100)
    assert [kind.workload.price(options, sizes, number, options.draw) for number in range(3)] == [1, 2, 2]
    assert [kind.workload.price(options, sizes, number, 4 * options.draw) for number in range(3)] == [1, 1.25, 1.25]
    without = learner_options("bgs", {"last_layer_epochs": 0})
    assert [stage.name for stage in kind.stages(without, sizes, [50, 50, 20], 1)] == ["train"]
    assert kind.needs_groups


@pytest.mark.parametrize("options", [{"buffer": 0}, {"draw": 0}, {"last_layer_epochs": -1}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.bgs\.{next(iter(options))} is"):
        learner_options("bgs", options)


def test_a_net_without_a_linear_layer_is_refused_at_once(make, tasks):
    context = make("sgd", phases=tasks).context
    with pytest.raises(InputError, match="trains the last linear layer of a net, but this net has none"):
        make_learner("bgs", {}, nn.Sequential(nn.Conv2d(3, 2, 12), nn.Flatten()), context)
