"""EIIL: environments in which a reference net errs as differently as can be, and group DRO over them."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.learner import Stage
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.eiil import environments, scale_gradients
from einstellung.training import LoopSettings, PhaseLoop

IDENTIFY, TRAIN = Stage("identify", 1.0), Stage("train", 2.0)
QUICK = {"ascent_steps": 200, "ascent_lr": 0.02}


@pytest.fixture
def logits():
    draws = torch.Generator().manual_seed(3)
    return 2 * torch.randn(40, 3, generator=draws), torch.randint(3, (40,), generator=draws)


def by_autograd(logits, labels, steps, lr, draws):
    """The penalty as it is written in the paper: a scale of 1 before the logits, and its gradient's square."""
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    losses = F.cross_entropy(scale * logits.double(), labels, reduction="none")
    u = torch.randn(len(labels), generator=draws, dtype=torch.float64).requires_grad_()
    adam = torch.optim.Adam([u], lr=lr)
    for _ in range(steps):
        penalty = 0.0
        for label in labels.unique():
            mine = labels == label
            for member in (u[mine].sigmoid(), 1 - u[mine].sigmoid()):
                (slope,) = torch.autograd.grad((losses[mine] * member).mean(), scale, create_graph=True)
                penalty = penalty + slope**2 / 2
        adam.zero_grad()
        (-penalty).backward(retain_graph=True, inputs=[u])
        adam.step()
    return (u.detach().sigmoid() > 0.5).long()


def test_the_gradient_in_the_scale_is_that_of_autograd(logits):
    scales = torch.ones(40, 1, dtype=torch.float64, requires_grad=True)
    F.cross_entropy(scales * logits[0].double(), logits[1], reduction="sum").backward()
    assert torch.allclose(scale_gradients(*logits), scales.grad.squeeze(1))


def test_environments_are_those_of_an_ascent_by_autograd(logits):
    """Many steps of the size of a hundredth: some images change sides on the way."""
    values, labels = logits
    ours = environments(scale_gradients(values, labels), labels, 120, 0.02, torch.Generator().manual_seed(5))
    theirs = by_autograd(values, labels, 120, 0.02, torch.Generator().manual_seed(5))
    begun = (torch.randn(40, generator=torch.Generator().manual_seed(5), dtype=torch.float64) > 0).long()
    assert torch.equal(ours, theirs)
    assert not torch.equal(ours, begun)


def test_in_the_end_every_class_is_divided_by_the_sign_of_the_gradient(logits):
    values, labels = logits
    gradients = scale_gradients(values, labels)
    found = environments(gradients, labels, 3000, 0.02, torch.Generator().manual_seed(0))
    for label in range(3):
        mine = labels == label
        signs = set(zip((gradients[mine] > 0).tolist(), found[mine].tolist(), strict=True))
        assert len(signs) == 2
        assert {side for side, _ in signs} == {True, False}
        assert {side for _, side in signs} == {0, 1}


def trained(make, phases, number, **options):
    learner = make("eiil", phases=phases, **QUICK, **options)
    learner.begin_phase(phases[number])
    learner.begin_stage(phases[number], IDENTIFY)
    learner.training_mode()
    return learner


def test_a_step_is_plain_while_it_identifies(make, batch_of, tasks):
    learner, plain = trained(make, tasks, 0), make("sgd", phases=tasks)
    plain.begin_phase(tasks[0])
    plain.training_mode()
    assert torch.equal(learner.observe(batch_of(tasks[0])), plain.observe(batch_of(tasks[0])))


def test_steps_of_the_second_stage_by_hand(make, batch_of, tasks):
    """Groups 2 y + environment, equal weights at first, multiplied by exp(0.5 x loss) before each step."""
    learner = trained(make, tasks, 0, step=0.5)
    learner.observe(batch_of(tasks[0]))
    start = copy.deepcopy(learner.context.initial())
    learner.begin_stage(tasks[0], TRAIN)
    learner.training_mode()
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, start[name]), name
    images = tasks[0].train
    group_of = dict(zip(images.index.tolist(), (2 * images.labels + learner._inferred).tolist(), strict=True))
    assert set(group_of.values()) == {0, 1, 2, 3}
    q, twin = dict.fromkeys(range(4), 0.25), copy.deepcopy(learner.net)
    for rows in (range(12), range(20, 36)):
        batch = batch_of(tasks[0], rows)
        losses = F.cross_entropy(twin(batch.inputs), batch.labels, reduction="none")
        groups = [group_of[index] for index in batch.raw.index.tolist()]
        means = {}
        for group in sorted(set(groups)):
            means[group] = losses[[number for number, own in enumerate(groups) if own == group]].mean()
            q[group] *= float(torch.exp(0.5 * means[group].detach()))
        q = {group: value / sum(q.values()) for group, value in q.items()}
        loss = sum(q[group] * mean for group, mean in means.items())
        twin.zero_grad()
        loss.backward()
        assert float(learner.observe(batch)) == pytest.approx(float(loss.detach()), rel=1e-5)
        with torch.no_grad():
            for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
                theirs -= 0.1 * theirs.grad
                assert torch.allclose(ours, theirs, atol=1e-6)


def test_every_group_is_drawn_equally_often(make, tasks):
    learner = trained(make, tasks, 0)
    learner.begin_stage(tasks[0], TRAIN)
    learner._groups = torch.tensor([0] * 30 + [1] * 2 + [3] * 4)
    drawn = torch.cat([torch.cat(list(learner.batches(tasks[0], epoch, 8))) for epoch in range(2, 52)])
    assert len(drawn) == 50 * 36
    shares = torch.bincount(learner._groups[drawn], minlength=4) / len(drawn)
    assert shares.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=0.04)


def test_the_two_stages_of_a_phase_of_the_shapes(make, stream):
    """In the second phase, with other classes: weights over the groups of its own images alone."""
    t2 = stream.phases[1]
    learner = make("eiil", **QUICK)
    learner.begin_phase(t2)
    before = 0
    for stage in (IDENTIFY, TRAIN):
        learner.begin_stage(t2, stage)
        settings = LoopSettings(stage.passes, 16, 0.1, before=before)
        PhaseLoop(learner, t2, settings, lambda *_: None, lambda e: None, lambda c: None).run()
        before += stage.epochs
    weights = learner.state_dict()["weights"]["q"]
    assert float(weights.sum()) == pytest.approx(1)
    assert set((weights.nonzero().flatten() // 2).tolist()) == set(t2.classes)


def test_its_stages_and_costs():
    kind, sizes = learners["eiil"], [600, 300]
    options = learner_options("eiil", {})
    assert (options.identify_epochs, options.ascent_steps, options.ascent_lr, options.step) == (1, 10_000, 1e-3, 0.01)
    stages = kind.stages(options, sizes, [50, 20], 0)
    assert [(stage.name, stage.passes) for stage in stages] == [("identify", 1), ("train", 50)]
    assert all(kind.workload.share(options, sizes, 1, stage.name) == 1 for stage in stages)
    assert kind.workload.cost(options, sizes, 1) == 1
    assert not kind.shares_first_phase(options)
    assert not kind.combines
    assert not kind.needs_groups


@pytest.mark.parametrize("options", [{"identify_epochs": 0}, {"ascent_steps": 0}, {"ascent_lr": 0.0}, {"step": -1.0}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.eiil\.{next(iter(options))} is .*: it must be"):
        learner_options("eiil", options)
