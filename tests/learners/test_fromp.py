"""FROMP: which points are memorable, what is kept of them, and the pull that they give."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.laplace import curvature, kernels, leverages, uncertainties
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator
from einstellung.training.checkpoint import load_state, save_state

SOFT = {"prior": 1.0, "jitter": 1e-2}  # kernels that are easily inverted


def learn(learner, batch_of, phase, rows=range(8)):
    learner.begin_phase(phase)
    learner.begin_epoch(phase, 1)
    learner.net.train()
    return learner.observe(batch_of(phase, rows))


def after(make, batch_of, tasks, count=1, **options):
    """A learner that has learned a little of so many phases, and has begun the next one and moved away a little."""
    learner = make("fromp", lr=0.05, phases=tasks, **SOFT | options)
    for phase in tasks[:count]:
        learn(learner, batch_of, phase)
        learner.end_phase(phase)
    for start in (0, 8, 16):
        learn(learner, batch_of, tasks[count], range(start, start + 8))
    return learner


def shown(learner, images):
    return learner.context.presentation.unaugmented(images)


def by_class(scores, labels, each):
    """The highest scores of every class, by sorting."""
    pairs = sorted(zip(scores.tolist(), range(len(scores)), strict=True), reverse=True)
    return {label: {row for _, row in [p for p in pairs if labels[p[1]] == label][:each]} for label in (0, 1)}


@pytest.mark.parametrize("choice", ["lambda", "leverage"])
def test_the_memorable_points_have_the_largest_scores_of_their_class(make, batch_of, tasks, choice):
    learner = make("fromp", buffer=10, choice=choice, phases=tasks, **SOFT)
    learn(learner, batch_of, tasks[0])
    images = tasks[0].train
    if choice == "lambda":
        scores = uncertainties(learner.net, shown(learner, images), len(images))
    else:
        rounded = curvature(learner.net, shown(learner, images), len(images), learner.net.head.out_features)
        spread = {name: 1 / (value + 1.0) for name, value in rounded.items()}
        scores = leverages(learner.net, shown(learner, images), len(images), spread)
    learner.end_phase(tasks[0])
    expected = by_class(scores, images.labels, 5)
    rows = learner.memorable["T1"].tolist()
    assert {label: {row for row in rows if images.labels[row] == label} for label in (0, 1)} == expected


def test_the_choices_differ(make, batch_of, tasks):
    chosen = []
    for choice in ("lambda", "leverage"):
        learner = make("fromp", buffer=10, choice=choice, phases=tasks, **SOFT)
        learn(learner, batch_of, tasks[0])
        learner.end_phase(tasks[0])
        chosen.append(set(learner.memorable["T1"].tolist()))
    assert chosen[0] != chosen[1]


def test_the_buffer_is_shared_evenly_and_the_most_memorable_stay(make, batch_of, tasks):
    learner = after(make, batch_of, tasks, buffer=12)
    first = learner.memorable["T1"].tolist()
    learner.end_phase(tasks[1])
    assert {name: len(rows) for name, rows in learner.memorable.items()} == {"T1": 6, "T2": 6}
    assert learner.memorable["T1"].tolist() == first[:6]
    for phase in tasks[:2]:
        assert Counter(phase.train.labels[learner.memorable[phase.name]].tolist()) == {0: 3, 1: 3}


def test_curvature_adds_up_and_what_is_kept_is_of_the_net_as_it_is(make, batch_of, tasks):
    """After T2, T1's points have the probabilities and kernels of the net after T2, with the curvature of both."""
    learner = make("fromp", buffer=12, phases=tasks, **SOFT)
    outputs, total = learner.net.head.out_features, {}
    for phase in tasks[:2]:
        learn(learner, batch_of, phase)
        fresh = curvature(learner.net, shown(learner, phase.train), len(phase.train), outputs)
        total = {name: total.get(name, 0) + value for name, value in fresh.items()}
        learner.end_phase(phase)
    spread = {name: 1 / (value + 1.0) for name, value in total.items()}
    for start, phase in ((0, tasks[0]), (6, tasks[1])):
        points = shown(learner, phase.train.take(learner.memorable[phase.name]))
        own = kernels(learner.net, points, spread) + 1e-2 * torch.eye(6)
        assert torch.allclose(learner.kernels[:, start : start + 6, start : start + 6], own, rtol=1e-5)
        means = copy.deepcopy(learner.net).eval()(points).softmax(dim=1)
        assert torch.allclose(learner.means[start : start + 6], means, atol=1e-6)
    assert not bool(learner.kernels[:, :6, 6:].any())


def test_fewer_images_for_the_curvature_stand_for_all(make, batch_of, tasks, monkeypatch):
    seen = []

    def counted(net, inputs, count, n_outputs, autocast):
        seen.append(count)
        return {name: torch.ones_like(value) for name, value in net.named_parameters()}

    monkeypatch.setattr("einstellung.learners.fromp.curvature", counted)
    learner = make("fromp", buffer=4, curvature_images=9, phases=tasks)
    learner.end_phase(tasks[0])
    assert seen == [9]
    assert all(bool((value == 36 / 9).all()) for value in learner.curvature.values())


def penalty_by_hand(learner, phases, net, tau):
    """tau/2 sum_s sum_c d^T K^-1 d, with a matrix inverted for every phase and output."""
    total, start = 0.0, 0
    for phase in phases:
        rows = learner.memorable[phase.name]
        here = slice(start, start + len(rows))
        likely = net(shown(learner, phase.train.take(rows))).softmax(dim=1)
        for output in range(likely.shape[1]):
            change = (likely[:, output] - learner.means[here, output]).double()
            total = total + tau / 2 * change @ torch.linalg.inv(learner.kernels[output, here, here]) @ change
        start += len(rows)
    return total


@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_step_by_hand(make, batch_of, tasks, clip):
    """CE with batch norm's statistics of the batch, the penalty with its running ones; then, maybe, the gradient cut short."""
    learner = after(make, batch_of, tasks, count=2, buffer=12, tau=3.0, clip=clip)
    twin, batch = copy.deepcopy(learner.net), batch_of(tasks[2], range(8, 16))
    twin.train()
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    twin.eval()
    penalty = penalty_by_hand(learner, tasks[:2], twin, 3.0)
    (loss + penalty).backward()
    norm = torch.cat([value.grad.flatten() for value in twin.parameters()]).norm()
    factor = 1.0 if clip is None else min(1.0, clip / float(norm))
    assert (factor < 1) == (clip is not None)
    assert float(penalty.detach()) > 1e-3
    assert torch.allclose(learner.observe(batch), (loss + penalty).float(), rtol=1e-4)
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.05 * factor * theirs.grad, rtol=1e-3, atol=1e-5)
    for name, value in twin.named_buffers():
        assert torch.allclose(value, learner.net.get_buffer(name)), name
    assert learner.net.training


def test_joined_the_points_share_the_batchs_statistics(make, batch_of, tasks):
    """One pass in training mode over batch and points: its statistics, its running means, its gradient."""
    learner = after(make, batch_of, tasks, count=2, buffer=12, tau=3.0, clip=None, joined=True)
    twin, batch = copy.deepcopy(learner.net), batch_of(tasks[2], range(8, 16))
    points = [shown(learner, phase.train.take(learner.memorable[phase.name])) for phase in tasks[:2]]
    twin.train()
    logits = twin(torch.cat((batch.inputs, *points)))
    whole = torch.zeros(())
    for start, output in ((start, output) for start in (0, 6) for output in range(logits.shape[1])):
        here = slice(start, start + 6)
        likely = logits[8:].softmax(dim=1)[here, output]
        change = (likely - learner.means[here, output]).double()
        whole = whole + 1.5 * change @ torch.linalg.inv(learner.kernels[output, here, here]) @ change
    assert float(whole.detach()) > 1e-3
    loss = F.cross_entropy(logits[:8], batch.labels) + whole
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.float(), rtol=1e-4)
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.05 * theirs.grad, rtol=1e-3, atol=1e-5)
    for name, value in twin.named_buffers():
        assert torch.allclose(value, learner.net.get_buffer(name)), name
    assert any("running_mean" in name for name, _ in twin.named_buffers())


def test_joined_a_step_shows_the_batch_and_a_draw_and_weighs_it_by_its_share(make, batch_of, tasks):
    learner = after(make, batch_of, tasks, buffer=12, draw=5, tau=2.0, joined=True)
    twin, batch = copy.deepcopy(learner.net).train(), batch_of(tasks[1], range(8))
    rows = torch.randperm(12, generator=generator(learner.context.seed, "memorable", "T2", 4))[:5]
    points = shown(learner, tasks[0].train.take(learner.memorable["T1"][rows]))
    logits = twin(torch.cat((batch.inputs, points))).detach()
    change = logits[8:].softmax(dim=1).double() - learner.means[rows]
    pull = sum(
        change[:, output] @ torch.linalg.inv(learner.kernels[output][rows][:, rows]) @ change[:, output]
        for output in range(logits.shape[1])
    )
    learner.begin_epoch(tasks[1], 4)
    expected = float(F.cross_entropy(logits[:8], batch.labels) + 12 / 5 * pull)
    assert float(pull) > 1e-3
    assert float(learner.observe(batch)) == pytest.approx(expected, rel=1e-4)


def test_the_penaltys_gradient_by_finite_differences(make, batch_of, tasks):
    learner = after(make, batch_of, tasks, buffer=12)
    parameters = list(learner.net.parameters())
    gradients = torch.autograd.grad(learner.penalty(), parameters)
    draws = torch.Generator().manual_seed(0)
    way = [torch.randn(value.shape, generator=draws) for value in parameters]
    along = sum(float((gradient * step).sum()) for gradient, step in zip(gradients, way, strict=True))
    values = []
    with torch.no_grad():
        for size in (4e-4, -8e-4):
            for parameter, step in zip(parameters, way, strict=True):
                parameter += size * step
            values.append(float(learner.penalty()))
    assert (values[0] - values[1]) / 8e-4 == pytest.approx(along, rel=0.02)


def test_a_draw_is_weighed_by_its_share_and_uses_the_marginal(make, batch_of, tasks):
    learner = after(make, batch_of, tasks, buffer=12, draw=5, tau=2.0)
    learner.begin_epoch(tasks[1], 4)
    found = float(learner.penalty().detach())
    rows = torch.randperm(12, generator=generator(learner.context.seed, "memorable", "T2", 4))[:5]
    points = tasks[0].train.take(learner.memorable["T1"][rows])
    likely = copy.deepcopy(learner.net).eval()(shown(learner, points)).softmax(dim=1).detach()
    by_hand = 0.0
    for output in range(likely.shape[1]):
        change = (likely[:, output] - learner.means[rows, output]).double()
        by_hand = by_hand + change @ torch.linalg.inv(learner.kernels[output][rows][:, rows]) @ change
    assert found == pytest.approx(float(12 / 5 * by_hand), rel=1e-4)


def test_a_draw_of_all_is_no_draw(make, batch_of, tasks):
    values = [float(after(make, batch_of, tasks, buffer=12, draw=draw).penalty().detach()) for draw in (None, 12, 40)]
    assert values[0] == values[1] == values[2] > 0


def test_the_first_phase_is_plain_but_for_the_clip(make, batch_of, tasks):
    """In the authors' code the norm of the gradient is limited in every phase."""
    learner = make("fromp", lr=0.05, phases=tasks, clip=0.01)
    twin, batch = copy.deepcopy(learner.net), batch_of(tasks[0])
    twin.train()
    F.cross_entropy(twin(batch.inputs), batch.labels).backward()
    norm = torch.cat([value.grad.flatten() for value in twin.parameters()]).norm()
    assert norm > 0.01
    learn(learner, batch_of, tasks[0])
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.05 * 0.01 / norm * theirs.grad, rtol=1e-4, atol=1e-7)
    learner, plain = make("fromp", phases=tasks, clip=None), make("sgd", phases=tasks)
    for one in (learner, plain):
        learn(one, batch_of, tasks[0])
    for ours, theirs in zip(learner.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert learner.state_dict() == {}


def test_memory_survives_a_file_and_its_order_does_not_matter(make, batch_of, tasks, tmp_path):
    learner = make("fromp", buffer=12, draw=7, phases=tasks, **SOFT)
    for phase in tasks[:2]:
        learn(learner, batch_of, phase)
        learner.end_phase(phase)
    state = load_state(save_state(tmp_path / "state.safetensors", learner.state_dict()))
    state["memorable"] = dict(reversed(state["memorable"].items()))
    other = make("fromp", buffer=12, draw=7, phases=tasks, **SOFT)
    other.net.load_state_dict(learner.net.state_dict())
    other.load_state_dict(state)
    for one in (learner, other):
        learn(one, batch_of, tasks[2])
        one.end_phase(tasks[2])
    for ours, theirs in zip(learner.net.parameters(), other.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert torch.equal(learner.kernels, other.kernels)
    assert torch.equal(learner.means, other.means)


def test_epochs_or_a_clip_of_its_own_make_a_first_phase_of_its_own():
    kind = learners["fromp"]
    own, others = (learner_options("fromp", {"epochs": epochs, "clip": None}) for epochs in (30, None))
    assert [stage.passes for stage in kind.stages(own, [10, 10], [50, 40], 1)] == [30]
    assert [stage.passes for stage in kind.stages(others, [10, 10], [50, 40], 1)] == [40]
    assert (kind.shares_first_phase(own), kind.shares_first_phase(others)) == (False, True)
    assert not kind.shares_first_phase(learner_options("fromp", {}))


def test_what_it_costs():
    kind = learners["fromp"]
    sizes = [6000, 6000]
    assert kind.workload.price(learner_options("fromp", {"buffer": 64}), sizes, 0, 64) == 1
    assert kind.workload.price(learner_options("fromp", {"buffer": 64}), sizes, 1, 64) == 2
    assert kind.workload.price(learner_options("fromp", {"buffer": 64, "draw": 16}), sizes, 1, 64) == 1.25
    assert kind.workload.price(learner_options("fromp", {"buffer": 64}), sizes, 1, 16) == 5
    dear, cheap = (learner_options("fromp", {"choice": choice}) for choice in ("leverage", "lambda"))
    few = learner_options("fromp", {"curvature_images": 500})
    assert (
        kind.workload.closing_cost(dear, 6000)
        > kind.workload.closing_cost(cheap, 6000)
        > kind.workload.closing_cost(few, 6000)
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("choice", "random"),
        *((key, 0) for key in ("buffer", "draw", "curvature_images", "epochs", "prior", "jitter", "clip")),
        ("tau", -1),
    ],
)
def test_wrong_options_are_named(key, value):
    with pytest.raises(InputError, match=rf"^learners\.fromp\.{key} is '?{value}"):
        learner_options("fromp", {key: value})


def test_a_buffer_that_is_too_small_for_the_phases_is_named(make, tasks):
    with pytest.raises(InputError, match=r"learners\.fromp\.buffer is 1: give at least one for each of 2 phases"):
        make("fromp", buffer=1, phases=tasks)
