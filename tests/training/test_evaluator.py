"""Accuracies against a plain loop over images."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from einstellung.experiments.assembly import build_learner
from einstellung.training import Evaluator
from einstellung.training.evaluator import split_metrics


def test_every_figure_against_a_loop_over_images(config, stream):
    learner = build_learner(config, "sgd", 3, stream)
    net, presentation = learner.net, learner.context.presentation
    net.train()(presentation.normalised(stream.phases[0].train.images[:32]))  # statistics that mean something
    state = {name: value.clone() for name, value in net.state_dict().items()}
    measured = Evaluator(stream, presentation, learner.context.autocast, batch_size=7).measure(net, ["T2_val"])[0]
    assert net.training
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())

    images = stream.split("T2_val").images
    net.eval()
    right: dict[int, list[tuple[int, ...]]] = {}
    losses = []
    for image, label in zip(images.images, images.labels.tolist(), strict=True):
        with torch.no_grad():
            logits = net(presentation.normalised(image[None]))[0].double().tolist()
        ranked = sorted(range(len(logits)), key=lambda c: -logits[c])
        own = max(stream.phases[1].classes, key=lambda c: logits[c])
        within = max(set(images.labels.tolist()), key=lambda c: logits[c])
        right.setdefault(label, []).append((ranked[0] == label, own == label, within == label, label in ranked[:5]))
        top = max(logits)
        losses.append(top + math.log(sum(math.exp(value - top) for value in logits)) - logits[label])
    by_class = [[sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in right.values()]
    acc, acc_task, acc_within, top5 = (sum(column) / len(by_class) for column in zip(*by_class, strict=True))
    assert measured.acc == pytest.approx(acc)
    assert measured.acc_task == pytest.approx(acc_task)
    assert measured.acc_within == pytest.approx(acc_within)
    assert measured.top5 == pytest.approx(top5)
    assert measured.loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert measured.n == len(images)
    assert measured.acc_task >= measured.acc


def test_a_split_gets_the_same_numbers_whatever_else_is_measured(config, stream):
    """Bit for bit, and with batches that do not fit the splits: rounding in small batches depends on their size."""
    learner = build_learner(config, "sgd", 3, stream)
    evaluator = Evaluator(stream, learner.context.presentation, learner.context.autocast, batch_size=9)
    names = [split.name for split in stream.splits]
    assert any(len(split.images) % 9 for split in stream.splits)
    together = evaluator.measure(learner.net, names)
    for name, one in zip(names, together, strict=True):
        alone = evaluator.measure(learner.net, [name])[0]
        assert (alone.split, alone.n, alone.loss, alone.top5) == (one.split, one.n, one.loss, one.top5)
        assert torch.equal(alone.predictions, one.predictions)


def test_an_image_in_two_splits_of_a_phase_is_shown_once(config, stream):
    """And what is told of the smaller split is what a stream would tell that has no other."""
    learner = build_learner(config, "sgd", 3, stream)
    whole = stream.split("T2_val")
    rows = torch.tensor([5, 0, 3])
    some = replace(whole, name="some", images=whole.images.take(rows))
    both = replace(stream, splits=(*stream.splits, some))
    shown = []
    learner.net.register_forward_pre_hook(lambda _, inputs: shown.append(len(inputs[0])))

    def measured(of, *names):
        shown.clear()
        return Evaluator(of, learner.context.presentation, learner.context.autocast).measure(learner.net, names)

    one, other = measured(both, "some", "T2_val")
    assert sum(shown) == len(whole.images)
    assert torch.equal(one.predictions, other.predictions[rows])
    (alone,) = measured(replace(stream, splits=(some,)), "some")
    assert sum(shown) == 3
    assert (one.acc, one.acc_task, one.top5, one.n) == (alone.acc, alone.acc_task, alone.top5, 3)
    assert one.loss == pytest.approx(alone.loss, rel=1e-4)


def test_no_split_no_measurement(config, stream):
    learner = build_learner(config, "sgd", 3, stream)
    assert Evaluator(stream, learner.context.presentation, learner.context.autocast).measure(learner.net, []) == []


@given(
    logits=arrays(np.float64, (12, 5), elements=st.integers(-8, 8), unique=False),
    labels=st.lists(st.integers(0, 4), min_size=12, max_size=12),
)
def test_accuracy_within_the_classes_of_a_split_against_a_loop(logits, labels):
    """The first of the largest logits among the classes that the split holds; None where it holds one."""
    held = sorted(set(labels))
    measured = split_metrics(torch.from_numpy(logits), torch.tensor(labels), (0, 1, 2, 3, 4))
    if len(held) == 1:
        assert measured.acc_within is None
        return
    shares = []
    for label in held:
        own = [row for row, other in zip(logits.tolist(), labels, strict=True) if other == label]
        shares.append(sum(max(held, key=lambda one, row=row: row[one]) == label for row in own) / len(own))
    assert measured.acc_within == pytest.approx(sum(shares) / len(shares))
    assert measured.acc_within >= measured.acc_task == measured.acc


def test_a_split_of_one_class_has_no_accuracy_within():
    metrics = split_metrics(torch.eye(3), torch.zeros(3, dtype=torch.long), (0, 1))
    assert metrics.acc_within is None
    assert metrics.acc_task is not None
