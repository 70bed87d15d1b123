"""DFR: plain training, then a last layer from nothing on a balanced subset, with all else standing still."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.learner import Stage
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.groups import SUBSET_SHARE
from einstellung.training import LoopSettings, PhaseLoop
from tests.learners.mitigation.points import learned, made, one_cue, stream_of

LAST = Stage("last-layer", 1.0)


def run_stage(learner, phase, stage, size=8, before=0):
    """The batches of a stage, after which a milestone of the schedule has passed."""
    seen = []
    observe = type(learner).observe
    learner.observe = lambda batch: seen.append(batch) or observe(learner, batch)
    learner.begin_stage(phase, stage)
    settings = LoopSettings(stage.passes, size, 0.1, milestones=(0.5,), before=before)
    PhaseLoop(learner, phase, settings, lambda *_: None, lambda _: None, lambda _: None).run()
    return seen


def test_until_the_last_stage_it_is_plain_training(make, tasks):
    nets = []
    for name in ("dfr", "erm"):
        learner = make(name, phases=tasks)
        learner.begin_phase(tasks[0])
        run_stage(learner, tasks[0], Stage("train", 2.0))
        nets.append(learner.net.state_dict())
    assert all(torch.equal(ours, nets[1][name]) for name, ours in nets[0].items())


def test_the_last_stage_moves_the_last_layer_alone(make, tasks):
    learner = make("dfr", phases=tasks, last_layer_epochs=3)
    learner.begin_phase(tasks[1])
    run_stage(learner, tasks[1], Stage("train", 1.0))
    before = copy.deepcopy(learner.net.state_dict())
    seen = run_stage(learner, tasks[1], LAST, before=1)
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, before[name]) != name.startswith("head"), name
    images = torch.cat([batch.raw.index for batch in seen])
    assert set(Counter(images.tolist()).values()) == {3}
    own = tasks[1].train  # of whose features the stream names the first, and so tells no other
    supply = Counter(zip(own.labels.tolist(), (own.features % 2).tolist(), strict=True))
    groups = Counter((int(b.labels[i]), int(b.raw.features[i]) % 2) for b in seen for i in range(len(b.labels)))
    assert groups == dict.fromkeys(supply, 3 * min(supply.values()))


def test_its_first_step_by_hand(make, tasks):
    """From zeros, with batch norm's running statistics, at the study's first rate, with the L1 penalty's subgradient 0."""
    learner = make("dfr", phases=tasks, last_layer_epochs=1, l1=0.05)
    learner.begin_phase(tasks[0])
    twin = copy.deepcopy(learner.net).eval()
    (batch,) = run_stage(learner, tasks[0], LAST, size=36)
    torch.nn.init.zeros_(twin.head.weight)
    torch.nn.init.zeros_(twin.head.bias)
    F.cross_entropy(twin(batch.inputs), batch.labels).backward()
    for name in ("weight", "bias"):
        torch.testing.assert_close(
            learner.net.head.get_parameter(name), -0.1 * twin.head.get_parameter(name).grad, atol=1e-7, rtol=1e-5
        )


def test_the_penalty_by_hand():
    """One step more: the gradient of the cross entropy, and l1 times the sign of every weight but the bias."""
    stream = stream_of(one_cue(common=4, uncommon=4))
    phase = stream.phases[0]
    learner = made("dfr", stream, last_layer_epochs=2, l1=0.05)
    learner.begin_phase(phase)
    first, second = run_stage(learner, phase, LAST, size=16)
    twin = made("erm", stream).net
    for parameter in twin.parameters():
        torch.nn.init.zeros_(parameter)
    for batch in (first, second):
        twin.zero_grad()
        (F.cross_entropy(twin(batch.inputs), batch.labels) + 0.05 * twin.head.weight.abs().sum()).backward()
        with torch.no_grad():
            for parameter in twin.parameters():
                parameter -= 0.1 * parameter.grad
    torch.testing.assert_close(learner.net.head.weight, twin.head.weight)
    torch.testing.assert_close(learner.net.head.bias, twin.head.bias)
    plain = made("dfr", stream, last_layer_epochs=2)
    plain.begin_phase(phase)
    run_stage(plain, phase, LAST, size=16)
    assert learner.net.head.weight.abs().sum() < plain.net.head.weight.abs().sum()


def test_the_next_phase_learns_the_whole_net_again(make, tasks):
    learner = make("dfr", phases=tasks, last_layer_epochs=1)
    learner.begin_phase(tasks[0])
    run_stage(learner, tasks[0], LAST)
    learner.begin_phase(tasks[1])
    before = learner.net.conv.weight.clone()
    run_stage(learner, tasks[1], Stage("train", 1.0))
    assert learner.net.training
    assert not torch.equal(learner.net.conv.weight, before)
    assert learner.state_dict() == {}


def test_what_is_counted_is_what_was_shown():
    counts = []
    learned(made("dfr", stream_of(one_cue()), last_layer_epochs=4), "dfr", epochs=3, listener=counts.append)
    assert sum(one["T1"] for one in counts) == 3 * 200 + 4 * 20


def test_its_stages():
    kind = learners["dfr"]
    options = learner_options("dfr", {"last_layer_epochs": 30})
    train, last = kind.stages(options, [100, 50], [3, 5], 1)
    assert (train.name, train.passes) == ("train", 5)
    assert (last.name, last.passes) == ("last-layer", 1)
    shares = [kind.workload.share(options, [100, 50], 1, stage.name) for stage in (train, last)]
    assert shares == [1, pytest.approx(30 * SUBSET_SHARE)]


@pytest.mark.parametrize("options", [{"last_layer_epochs": 0}, {"l1": -1}, {"l1": "much"}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.dfr\.{next(iter(options))} is"):
        learner_options("dfr", options)
