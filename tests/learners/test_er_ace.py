"""ER-ACE: its loss from the formula with explicit sums over competing classes."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import Methods, learners
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator


def in_phase(make, stream, number, **options):
    learner = make("er_ace", **{"buffer": 20, "draw": 5, **options})
    for phase in stream.phases[: number + 1]:
        learner.begin_phase(phase)
    learner.begin_epoch(stream.phases[number], 1)
    learner.training_mode()
    return learner


def asymmetric(logits, labels, competing):
    """-log of the softmax over some columns only, image by image."""
    terms = [
        torch.logsumexp(row[sorted(competing)], dim=0) - row[label] for row, label in zip(logits, labels, strict=True)
    ]
    return torch.stack(terms).mean()


@pytest.mark.parametrize("rows", [range(8), range(0, 30, 2)])
def test_the_loss_by_hand(make, batch_of, stream, rows):
    """A few classes in the batch, then most: the old ones never compete with it."""
    learner = in_phase(make, stream, 1, replay="earlier")
    t1, t2 = stream.phases
    learner.end_phase(t1)
    twin, buffer, batch = copy.deepcopy(learner.net), copy.deepcopy(learner.buffer), batch_of(t2, rows)
    assert len(buffer) == 20
    draws, augmentation, cue = (
        generator(learner.context.seed, name, "T2", 1) for name in ("replay", "replay-augmentation", "replay-cue")
    )
    images, _ = buffer.draw(5, draws)
    inputs = learner.context.presentation.training(images, augmentation, cue)
    present = set(batch.labels.tolist())
    assert present < set(t2.classes)
    loss = asymmetric(twin(batch.inputs), batch.labels, present) + F.cross_entropy(twin(inputs), images.labels)
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


def test_classes_of_later_phases_compete(make, tasks):
    """Three outputs, the last of a class still to come: in the middle phase only the first, absent one is left out."""
    learner = make("er_ace", phases=tasks)
    learner.begin_phase(tasks[1])
    learner._later = [2]
    raw = tasks[1].train.take(torch.tensor([1, 3]))  # both of class 1
    batch = type("B", (), {"raw": raw})
    kept = learner._competing(torch.zeros(2, 3), batch)
    assert kept.tolist() == [[-torch.inf, 0.0, 0.0]] * 2


def test_the_first_phase_is_plain_and_fills_the_buffer(make, batch_of, stream):
    learner, plain = in_phase(make, stream, 0), make("sgd")
    plain.begin_phase(stream.phases[0])
    plain.training_mode()
    for start in (0, 8, 16):
        batch = batch_of(stream.phases[0], range(start, start + 8))
        assert torch.equal(learner.observe(batch), plain.observe(batch))
    assert all(torch.equal(p, q) for p, q in zip(learner.net.parameters(), plain.net.parameters(), strict=True))
    assert learner.buffer.seen == 24
    sizes = [100, 100]
    workload, options = learners["er_ace"].workload, learner_options("er_ace", {"draw": 8})
    assert [workload.extra_images_per_step(options, sizes, number) for number in (0, 1)] == [0, 8]


def test_it_is_no_part_of_a_combination_but_may_come_second():
    with pytest.raises(InputError, match="first part must be a replay method"):
        Methods()["er_ace+erm"]
    assert learner_options("erm-then-er_ace", {})["er_ace"].replay == "earlier"
