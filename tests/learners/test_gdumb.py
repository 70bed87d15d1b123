"""GDumb: a fresh net in every phase, and nothing but a balanced buffer to learn from."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.training import LoopSettings, PhaseLoop


def went_through(learner, phase, epochs, size=8):
    """The identities and labels of every batch, what was heard of each step, and the effective epochs."""
    batches, counts, effective = [], [], []
    observe = learner.observe

    def watched(batch):
        batches.append(list(zip(batch.raw.index.tolist(), batch.labels.tolist(), strict=True)))
        return observe(batch)

    learner.observe = watched
    learner.begin_phase(phase)
    settings = LoopSettings(epochs, size, 0.1)
    PhaseLoop(learner, phase, settings, lambda _, e: effective.append(e), lambda e: None, counts.append).run()
    return batches, counts, effective


def test_every_class_of_every_phase_has_the_same_room(make, tasks):
    """20 places: 10 + 10, then 4 x 5, then 3 or 4 of each, although the classes are the same two in all phases."""
    for number, rooms in ((0, {10}), (1, {5}), (2, {3, 4})):
        learner = make("gdumb", buffer=20, phases=tasks)
        (batch,), _, _ = went_through(learner, tasks[number], 1, size=20)
        held = Counter((index // 100, label) for index, label in batch)
        assert len(held) == 2 * (number + 1)
        assert set(held.values()) == rooms
        assert held.total() == 20


def test_an_epoch_is_the_buffer_once_and_own_images_count(make, tasks):
    learner = make("gdumb", buffer=20, phases=tasks)
    batches, counts, effective = went_through(learner, tasks[1], 2)
    assert [len(batch) for batch in batches] == [8, 8, 4, 8, 8, 4]
    first, second = (sorted(entry for batch in part for entry in batch) for part in (batches[:3], batches[3:]))
    assert first == second
    assert len(set(first)) == 20
    assert batches[:3] != batches[3:]
    assert sum((Counter(count) for count in counts), Counter()) == {"T1": 20, "T2": 20}
    assert effective == pytest.approx([10 / 36, 20 / 36])


def test_an_epoch_may_be_several_passes_each_in_an_order_of_its_own(make, tasks):
    learner = make("gdumb", buffer=20, passes=3, phases=tasks)
    batches, _, effective = went_through(learner, tasks[1], 2)
    assert [len(batch) for batch in batches] == 6 * [8, 8, 4]
    passes = [[entry for batch in batches[start : start + 3] for entry in batch] for start in range(0, 18, 3)]
    assert len({tuple(one) for one in passes}) == 6
    assert len({frozenset(one) for one in passes}) == 1
    assert effective == pytest.approx([30 / 36, 60 / 36])


def test_the_batches_of_an_epoch_do_not_depend_on_the_ones_before(make, tasks):
    def rows(epoch):
        learner = make("gdumb", buffer=20, phases=tasks)
        learner.begin_phase(tasks[2])
        return [part.tolist() for part in learner.batches(tasks[2], epoch, 8)]

    assert rows(2) == rows(2) != rows(3)


def test_a_phase_is_learned_from_the_weights_of_the_run_on_the_buffer_alone(make, tasks):
    """The step of T3 after T1 is that of a net that has just been made, on what the buffer holds."""
    learner = make("gdumb", buffer=20, phases=tasks)
    twin = copy.deepcopy(learner.net).train()
    went_through(learner, tasks[0], 1)
    learner.end_phase(tasks[0])
    seen = []
    plain = type(learner).observe
    learner.observe = lambda batch: seen.append(batch) or plain(learner, batch)
    learner.begin_phase(tasks[2])
    nothing = {"on_epoch": lambda *_: None, "on_evaluation": lambda e: None, "on_step": lambda c: None}
    PhaseLoop(learner, tasks[2], LoopSettings(1, 20, 0.1), **nothing).run()
    (batch,) = seen
    F.cross_entropy(twin(batch.inputs), batch.labels).backward()
    for ours, theirs in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs - 0.1 * theirs.grad, atol=1e-6)


def test_where_phases_share_no_class_it_is_balanced_over_classes(make, stream):
    learner = make("gdumb", buffer=80)
    batches, _, _ = went_through(learner, stream.phases[1], 1, size=80)
    held = Counter(label for _, label in batches[0])
    assert set(held) == {label for phase in stream.phases for label in phase.classes}
    assert max(held.values()) - min(held.values()) <= 1


def test_what_it_costs():
    """As many images as the buffer holds, in every epoch, whatever the phase."""
    kind, options, sizes = learners["gdumb"], learner_options("gdumb", {}), [6000, 6000, 3000]
    assert not kind.shares_first_phase(options)
    for number, size in enumerate(sizes):
        (stage,) = kind.stages(options, sizes, [50, 50, 20], number)
        assert stage.passes == [50, 50, 20][number]
        share = kind.workload.share(options, sizes, number)
        assert kind.workload.cost(options, sizes, number) * size * share == pytest.approx(100)
        eight = learner_options("gdumb", {"passes": 8})
        (often,) = kind.stages(eight, sizes, [50, 50, 20], number)
        assert often.passes == stage.passes
        assert kind.workload.share(eight, sizes, number) == pytest.approx(8 * share)


@pytest.mark.parametrize("key", ["buffer", "passes"])
def test_a_wrong_number_is_named(key):
    with pytest.raises(InputError, match=rf"^learners\.gdumb\.{key} is 0: it must be at least 1"):
        learner_options("gdumb", {key: 0})
