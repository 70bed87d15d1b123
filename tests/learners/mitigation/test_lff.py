"""LfF: a net that is made to take the shortcut, and one that learns most from where it fails."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.lff import SmoothedLosses, generalised


def begun(learner, phase, epoch=1):
    learner.begin_phase(phase)
    learner.training_mode()
    learner.begin_epoch(phase, epoch)
    return learner


@pytest.mark.parametrize("q", [0.3, 0.7, 1.0])
def test_the_biased_nets_loss_is_that_of_the_paper_and_its_gradient_too(q):
    """(1 - p^q) / q; its gradient is p^q times that of the cross entropy."""
    logits = torch.tensor([[0.0, 2.0, -1.0], [3.0, 0.5, 0.2], [0.1, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 0, 2])
    cross_entropy = F.cross_entropy(logits, labels, reduction="none")
    p = logits.detach().softmax(dim=1)[torch.arange(3), labels]
    assert torch.allclose(generalised(cross_entropy, q), (1 - p**q) / q)
    (ours,) = torch.autograd.grad(generalised(cross_entropy, q).sum(), logits, retain_graph=True)
    (theirs,) = torch.autograd.grad((p**q * cross_entropy).sum(), logits)
    assert torch.allclose(ours, theirs)


def test_smoothed_losses_by_hand():
    """Classes 0, 0, 1, 1. First 2, 4, 1; then 12 for the first: 0.7 x 2 + 0.3 x 12 = 5; the last image is never seen."""
    losses = SmoothedLosses(torch.tensor([0, 0, 1, 1]), 0.7)
    first = losses.update(torch.tensor([0, 1, 2]), torch.tensor([2.0, 4.0, 1.0]))
    assert first.tolist() == pytest.approx([0.5, 1.0, 1.0])
    second = losses.update(torch.tensor([0, 2]), torch.tensor([12.0, 0.0]))
    assert second.tolist() == pytest.approx([1.0, 1.0])  # 5 / max(5, 4) and 0.7 / 0.7
    third = losses.update(torch.tensor([1]), torch.tensor([0.0]))
    assert third.tolist() == pytest.approx([2.8 / 5])


def test_a_class_that_is_learned_perfectly_has_weights_that_are_numbers():
    losses = SmoothedLosses(torch.tensor([0, 0]), 0.7)
    assert losses.update(torch.tensor([0, 1]), torch.zeros(2)).tolist() == [0, 0]


def test_steps_by_hand(make, batch_of, tasks):
    """Three batches with images in common, against nets, optimisers and a table of losses kept one by one."""
    learner = begun(make("lff", phases=tasks), tasks[0])
    nets = {"b": copy.deepcopy(learner.second), "d": copy.deepcopy(learner.net)}
    smoothed: dict[tuple[str, int], float] = {}
    label_of = dict(zip(tasks[0].train.index.tolist(), tasks[0].train.labels.tolist(), strict=True))
    for rows in (range(8), range(4, 12), range(8)):
        batch = batch_of(tasks[0], rows)
        losses = {
            name: F.cross_entropy(net(batch.inputs), batch.labels, reduction="none") for name, net in nets.items()
        }
        for name, values in losses.items():
            for index, value in zip(batch.raw.index.tolist(), values.tolist(), strict=True):
                old = smoothed.get((name, index))
                smoothed[name, index] = value if old is None else 0.7 * old + 0.3 * value
        weights = []
        for index in batch.raw.index.tolist():
            parts = {}
            for name in nets:
                same = [v for (n, i), v in smoothed.items() if n == name and label_of[i] == label_of[index]]
                parts[name] = smoothed[name, index] / max(same)
            weights.append(parts["b"] / (parts["b"] + parts["d"]))
        p = (-losses["b"]).exp().detach()
        expected = (torch.tensor(weights) * losses["d"]).mean() + ((1 - p**0.7) / 0.7).mean()
        ((torch.tensor(weights) * losses["d"]).mean() + (p**0.7 * losses["b"]).mean()).backward()
        assert float(learner.observe(batch)) == pytest.approx(float(expected.detach()), rel=1e-5)
        for ours, theirs in ((learner.second, nets["b"]), (learner.net, nets["d"])):
            for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
                with torch.no_grad():
                    other -= 0.1 * other.grad
                other.grad = None
                assert torch.allclose(mine, other, atol=1e-6)
    assert not torch.equal(learner.second.head.weight, learner.net.head.weight)


def test_replayed_images_have_losses_of_their_own(make, batch_of, tasks):
    """ER brings images of T1 into T2: each is found by its identity, and its class's largest loss counts them in."""
    learner = begun(make("er+lff", phases=tasks, er={"buffer": 10, "draw": 4}), tasks[0])
    learner.observe(batch_of(tasks[0]))
    learner.end_phase(tasks[0])
    begun(learner, tasks[1])
    tables = learner.method._smoothed
    assert not bool(tables["biased"].seen.any())
    learner.observe(batch_of(tasks[1]))
    seen = tables["biased"].seen
    assert len(seen) == 72
    assert int(seen[:36].sum()) == 4
    assert seen[36:].nonzero().flatten().tolist() == list(range(8))
    assert torch.equal(seen, tables["debiased"].seen)


def test_with_der_its_loss_is_added_to(make, batch_of, tasks):
    learner = begun(make("der+lff", phases=tasks, der={"buffer": 10, "draw": 4}), tasks[0])
    alone = begun(make("lff", phases=tasks), tasks[0])
    assert torch.equal(learner.observe(batch_of(tasks[0])), alone.observe(batch_of(tasks[0])))
    learner.end_phase(tasks[0])
    begun(learner, tasks[1])
    assert bool(learner.observe(batch_of(tasks[1])).isfinite())


def test_a_phase_begins_with_a_fresh_biased_net(make, batch_of, tasks):
    learner = make("lff", phases=tasks)
    initial = copy.deepcopy(learner.net.state_dict())
    begun(learner, tasks[0]).observe(batch_of(tasks[0]))
    assert not torch.equal(learner.second.head.weight, initial["head.weight"])
    learned = copy.deepcopy(learner.net.state_dict())
    learner.begin_phase(tasks[1])
    for name, value in learner.second.state_dict().items():
        assert torch.equal(value, initial[name]), name
        assert torch.equal(learner.net.state_dict()[name], learned[name]), name


def test_what_it_says_of_itself():
    kind, options = learners["lff"], learner_options("lff", {})
    assert not kind.shares_first_phase(options)
    assert kind.workload.cost(options, [100, 100], 1) == 2
    assert kind.combines
    assert not kind.needs_groups


@pytest.mark.parametrize("options", [{"q": 0.0}, {"q": 1.5}, {"alpha": 1.0}, {"alpha": -0.1}])
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"^learners\.lff\.{next(iter(options))} is .*: it must be"):
        learner_options("lff", options)
