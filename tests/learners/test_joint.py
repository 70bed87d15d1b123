"""Joint training, and what it has in common with other mixtures of phases: images, order, and what counts."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options

from .mixtures import first, watched_steps, went_through, with_phases


def test_joint_uses_the_budget_of_both_phases_and_cuts_the_last_pass_short(make, stream):
    t1, t2 = stream.phases
    sizes, epochs = [len(t1.train), len(t2.train)], [1, 3]
    passes = learners["joint"].stages(learner_options("joint", {}), sizes, epochs, 1)[0].passes
    budget = sizes[0] * 1 + sizes[1] * 3
    assert passes == pytest.approx(budget / sum(sizes))
    assert passes % 1
    _, counts, effective = went_through(make("joint"), t2, passes, size=7)
    taken = sum(sum(count.values()) for count in counts)
    assert taken == budget  # to the image: the last batch is cut, too
    assert effective[-1] == pytest.approx(sum(count["T2"] for count in counts) / sizes[1])
    assert int(passes) < effective[-1] < int(passes) + 1


def test_joint_may_have_passes_of_its_own():
    kind, options = learners["joint"], learner_options("joint", {"epochs": 6})
    assert [stage.passes for stage in kind.stages(options, [100, 50], [3, 3], 1)] == [6]
    with pytest.raises(InputError, match=r"^learners\.joint\.epochs is 0: it must be at least 1"):
        learner_options("joint", {"epochs": 0})


@pytest.mark.parametrize(("name", "epochs"), [("interleaved", 2), ("joint", 1.7), ("cumulative", 2)])
@pytest.mark.parametrize("size", [1, 8])
def test_no_moment_is_measured_twice(make, stream, name, epochs, size):
    """Steps without T2 images do not move the effective epoch, and the end of an epoch is measured once."""
    within: list[float] = []
    t1, t2 = stream.phases[0], first(stream.phases[1], 12)
    learner = with_phases(make(name), t1, t2)
    _, _, effective = went_through(learner, t2, epochs, size, every_steps=1, on_step=within.append)
    assert within
    assert min(within) > 0
    assert len({*within, *effective}) == len(within) + len(effective)


@pytest.mark.parametrize("name", ["joint", "cumulative"])
def test_a_mixture_shows_every_image_of_both_phases_once_an_epoch(make, stream, name):
    t1, t2 = stream.phases
    batches, counts, effective = went_through(make(name), t2, 1)
    seen = Counter(entry for batch in batches for entry in batch)
    assert seen == Counter(
        [(False, index) for index in t1.train.index.tolist()] + [(True, i) for i in t2.train.index.tolist()]
    )
    mixed = [batch for batch in batches if len({own for own, _ in batch}) == 2]
    assert len(mixed) > len(batches) / 2  # shuffled, not one after the other
    assert effective == [1.0]
    assert sum(count["T2"] for count in counts) == len(t2.train)


@pytest.mark.parametrize(("name", "count"), [("cumulative", 1), ("joint", 1), ("interleaved", 2)])
def test_its_steps_are_those_of_cross_entropy_on_a_mixture(make, stream, name, count):
    """sgd's batches hold T2 only: these go along the gradient of both phases, in one batch or one after the other."""
    t2 = stream.phases[1]
    learner, twin = make(name, lr=0.1), make("sgd").net
    batches = watched_steps(learner, t2, count, size=64)
    assert {label in t2.classes for batch in batches for label in batch.labels.tolist()} == {True, False}
    twin.train()
    for batch in batches:
        loss = torch.nn.functional.cross_entropy(twin(batch.inputs), batch.labels)
        gradients = torch.autograd.grad(loss, list(twin.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(twin.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
