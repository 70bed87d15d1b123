"""DebiAN: a discoverer of groups that are served unequally, and a classifier that makes up for it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners, make_learner
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.debian import violation, weights

SAID = [0.9, 0.5, 0.2, 0.6, 0.7]
ASSIGNED = [0.8, 0.4, 0.1, 0.3, 0.9]
LABELS = [1, 1, 1, 3, 3]


def tensors():
    return torch.tensor(SAID).double(), torch.tensor(ASSIGNED).double(), torch.tensor(LABELS)


def begun(learner, phase):
    learner.begin_phase(phase)
    learner.training_mode()
    learner.begin_epoch(phase, 1)
    return learner


def test_the_discoverers_loss_by_hand():
    """Class 1: P1 = (.72 + .2 + .02) / 1.3, P2 = (.18 + .3 + .18) / 1.7; class 3: P1 = .81 / 1.2, P2 = .49 / .8."""
    one = -math.log(0.94 / 1.3 - 0.66 / 1.7) - 2.0 * math.log(1 - abs(1.3 / 3 - 1.7 / 3))
    three = -math.log(0.81 / 1.2 - 0.49 / 0.8) - 2.0 * math.log(1 - abs(1.2 / 2 - 0.8 / 2))
    assert float(violation(*tensors(), 5, 2.0)) == pytest.approx((one + three) / 2, rel=1e-4)
    assert float(violation(*tensors(), 40, 2.0)) == pytest.approx((one + three) / 2, rel=1e-4)  # whatever is absent


def test_the_discoverers_loss_falls_as_groups_grow_unequal_and_rises_as_one_of_them_empties():
    said, labels = torch.tensor([0.9, 0.8, 0.2, 0.1]), torch.zeros(4, dtype=torch.long)
    apart, mixed, one_sided = (
        float(violation(said, torch.tensor(assigned), labels, 2, 1.0))
        for assigned in ([0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.2], [0.99, 0.99, 0.99, 0.95])
    )
    assert apart < mixed < one_sided


def test_whoever_is_served_worse_weighs_more_by_hand():
    """In both classes the first group fares better, so the weight is 1 + (1 - s); turned round, it is the same."""
    said, assigned, labels = tensors()
    expected = pytest.approx([2 - value for value in ASSIGNED])
    assert weights(said, assigned, labels, 4).tolist() == expected
    assert weights(said, 1 - assigned, labels, 4).tolist() == expected


def test_classes_are_judged_one_by_one():
    said, assigned = torch.tensor([0.9, 0.1, 0.1, 0.9]), torch.tensor([0.75, 0.25, 0.75, 0.25])
    got = weights(said, assigned, torch.tensor([0, 0, 1, 1]), 2)
    assert got.tolist() == pytest.approx([1.25, 1.75, 1.75, 1.25])


def reference_step(classifier, discoverer, batch, lr):
    """The two steps with a loop over classes, in the words of the paper."""
    labels, rows = batch.labels, torch.arange(len(batch.labels))
    classifier.train(), discoverer.eval()
    logits = classifier(batch.inputs)
    said = logits.softmax(dim=1)[rows, labels].detach()
    group = discoverer(batch.inputs).sigmoid()[rows, labels].detach()
    weight = torch.ones(len(labels))
    for label in labels.unique():
        mine = labels == label
        first = (group[mine] * said[mine]).sum() / group[mine].sum()
        second = ((1 - group[mine]) * said[mine]).sum() / (1 - group[mine]).sum()
        weight[mine] += 1 - group[mine] if first > second else group[mine]
    loss = (weight * F.cross_entropy(logits, labels, reduction="none")).mean()
    descend(classifier, loss, lr)
    classifier.eval(), discoverer.train()
    said = classifier(batch.inputs).softmax(dim=1)[rows, labels].detach()
    group = discoverer(batch.inputs).sigmoid()[rows, labels]
    terms = []
    for label in labels.unique():
        mine = labels == label
        first = (group[mine] * said[mine]).sum() / (group[mine].sum() + 1e-6)
        second = ((1 - group[mine]) * said[mine]).sum() / ((1 - group[mine]).sum() + 1e-6)
        balance = 1 - (group[mine].mean() - (1 - group[mine]).mean()).abs()
        terms.append(-(1e-6 + (first - second).abs()).log() - (1e-6 + balance).log())
    descend(discoverer, torch.stack(terms).mean(), lr)
    return loss.detach()


def descend(net, loss, lr):
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    with torch.no_grad():
        for parameter, gradient in zip(net.parameters(), gradients, strict=True):
            parameter -= lr * gradient


def test_steps_in_turn_by_hand(make, batch_of, tasks):
    learner = begun(make("debian", lr=0.01, phases=tasks), tasks[0])
    classifier, discoverer = copy.deepcopy(learner.net), copy.deepcopy(learner.second)
    for rows in (range(8), range(8, 16)):
        batch = batch_of(tasks[0], rows)
        expected = reference_step(classifier, discoverer, batch, 0.01)
        assert float(learner.observe(batch)) == pytest.approx(float(expected), rel=1e-5)
        for ours, theirs in ((learner.net, classifier), (learner.second, discoverer)):
            for name, value in ours.state_dict().items():  # batch norm's running statistics, too: one update each
                assert torch.allclose(value.float(), theirs.state_dict()[name].float(), atol=1e-5), name
    assert learner.net.training
    assert learner.second.training


def test_either_step_leaves_the_other_net_alone_although_both_have_momentum(make, batch_of, tasks):
    plain = make("sgd", phases=tasks)
    heavy = replace(plain.context, make_optimiser=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1))
    learner = begun(make_learner("debian", {}, plain.net, heavy), tasks[0])
    learner.observe(batch_of(tasks[0]))
    before = copy.deepcopy((learner.net.state_dict(), learner.second.state_dict()))
    learner.step(learner._classifier_loss(batch_of(tasks[0])))
    assert not torch.equal(learner.net.head.weight, before[0]["head.weight"])
    for name, value in learner.second.state_dict().items():
        assert torch.equal(value, before[1][name]), name
    between = copy.deepcopy(learner.net.state_dict())
    learner.step(learner._discoverer_loss(batch_of(tasks[0])))
    assert not torch.equal(learner.second.head.weight, before[1]["head.weight"])
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, between[name]), name


def test_replayed_images_reach_both_nets(make, batch_of, tasks):
    learner = begun(make("er+debian", phases=tasks, er={"buffer": 10, "draw": 4}), tasks[0])
    learner.observe(batch_of(tasks[0]))
    learner.end_phase(tasks[0])
    begun(learner, tasks[1])
    sizes = []
    for net in (learner.net, learner.method.second):
        net.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0])))
    learner.observe(batch_of(tasks[1]))
    assert sizes == [12] * 4


def test_what_it_says_of_itself():
    kind, options = learners["debian"], learner_options("debian", {})
    assert not kind.shares_first_phase(options)
    assert kind.workload.cost(options, [100, 100], 1) == pytest.approx(8 / 3)
    assert kind.combines
    with pytest.raises(InputError, match=r"^learners\.debian\.penalty is -1\.0: it must be at least 0"):
        learner_options("debian", {"penalty": -1})
