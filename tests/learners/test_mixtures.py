"""interleaved, joint, cumulative: which images they go through, in which order, and what counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.training import LoopSettings, PhaseLoop


def first(phase, count):
    """The same phase with its first few training images only."""
    return replace(phase, train=phase.train.take(torch.arange(count)))


def with_phases(learner, *phases):
    learner.context = replace(learner.context, phases=phases)
    return learner


def went_through(learner, phase, epochs, size=8, every_steps=None, heard=lambda e: None):
    """Every batch (identities with the phase they belong to), the counts heard, and the effective epochs."""
    batches, counts, effective = [], [], []
    plain = learner.observe

    def observe(batch):
        raw = batch.raw
        pairs = zip(raw.labels.tolist(), raw.index.tolist(), strict=True)
        batches.append([(label in phase.classes, index) for label, index in pairs])
        return plain(batch)

    learner.observe = observe
    learner.begin_phase(phase)
    settings = LoopSettings(epochs, size, 0.01, evaluate_every_steps=every_steps)
    PhaseLoop(learner, phase, settings, lambda _, e: effective.append(e), heard, counts.append).run()
    return batches, counts, effective


def test_interleaved_takes_an_earlier_and_an_own_batch_in_turn(make, stream):
    t2 = stream.phases[1]
    batches, counts, effective = went_through(make("interleaved"), t2, 2)
    assert [Counter(own for own, _ in batch) for batch in batches[:2]] == [{False: 8}, {True: 8}]
    assert all(all(own == (number % 2 == 1) for own, _ in batch) for number, batch in enumerate(batches))
    own = [index for batch in batches for is_own, index in batch if is_own]
    assert Counter(own) == Counter(t2.train.index.tolist() * 2)  # every own image once an epoch
    assert effective == [1.0, 2.0]
    assert sum(count["T1"] for count in counts) == sum(count["T2"] for count in counts) == 2 * len(t2.train)


def test_interleaved_goes_through_all_earlier_images_before_it_repeats_one(make, stream):
    t1, t2 = stream.phases
    epochs = 5
    batches, _, _ = went_through(make("interleaved"), t2, epochs)
    earlier = [index for batch in batches for own, index in batch if not own]
    assert len(earlier) == epochs * len(t2.train)
    whole = len(t1.train)
    assert sorted(earlier[:whole]) == sorted(t1.train.index.tolist())
    assert sorted(earlier[whole : 2 * whole]) == sorted(t1.train.index.tolist())
    assert earlier[:whole] != earlier[whole : 2 * whole]


def test_interleaved_batches_of_an_epoch_do_not_depend_on_the_ones_before(make, stream):
    t2 = stream.phases[1]
    learner = make("interleaved")
    straight = [list(map(tuple, learner.batches(t2, epoch, 8))) for epoch in (1, 2, 3)]
    assert list(map(tuple, make("interleaved").batches(t2, 3, 8))) == straight[2]
    assert straight[1] != straight[2]


def test_interleaved_uses_the_whole_budget_of_a_phase_that_is_larger_than_the_earlier_ones(make, stream):
    t1, t2 = stream.phases
    learner = with_phases(make("interleaved"), first(t1, 5), t2)
    _, counts, effective = went_through(learner, t2, 2)
    assert effective == [1.0, 2.0]
    assert sum(count["T1"] for count in counts) == sum(count["T2"] for count in counts) == 2 * len(t2.train)


@pytest.mark.parametrize(("name", "epochs"), [("interleaved", 2), ("joint", 1.7), ("cumulative", 2)])
@pytest.mark.parametrize("size", [1, 8])
def test_no_moment_is_measured_twice(make, stream, name, epochs, size):
    """Steps without T2 images do not move the effective epoch, and the end of an epoch is measured once."""
    within: list[float] = []
    t1, t2 = stream.phases[0], first(stream.phases[1], 12)
    learner = with_phases(make(name), t1, t2)
    _, _, effective = went_through(learner, t2, epochs, size, every_steps=1, heard=within.append)
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


def test_the_first_phase_of_cumulative_is_plain(make, stream):
    t1 = stream.phases[0]
    plain, cumulative = make("sgd"), make("cumulative")
    for learner in (plain, cumulative):
        went_through(learner, t1, 1)
    for one, other in zip(plain.net.parameters(), cumulative.net.parameters(), strict=True):
        assert torch.equal(one, other)


def watched_steps(learner, phase, count, size):
    """The first ``count`` batches of a phase, learned for real; what comes after is left out."""
    seen = []
    plain = learner.observe

    def observe(batch):
        if len(seen) == count:
            return torch.zeros(())
        seen.append(batch)
        return plain(batch)

    learner.observe = observe
    learner.begin_phase(phase)
    PhaseLoop(learner, phase, LoopSettings(1, size, 0.1), lambda *_: None, lambda e: None, lambda c: None).run()
    return seen


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
