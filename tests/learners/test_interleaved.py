"""Interleaved training: which images it goes through, in which order, and what counts."""

from __future__ import annotations

from collections import Counter

from .mixtures import first, went_through, with_phases


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
