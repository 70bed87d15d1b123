"""SUBG: plain training on a subset in which all groups have one size."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.groups import SUBSET_SHARE
from tests.learners.mitigation.points import learned, made, one_cue, stream_of, two_cues


def rows_of(learner, phase, epoch=1, size=16):
    return torch.cat(list(learner.batches(phase, epoch, size)))


def groups_in(images, rows):
    some = images.take(rows)
    return Counter(zip(some.labels.tolist(), some.features.tolist(), strict=True))


@pytest.mark.parametrize(
    ("cues", "groups", "each"), [(None, 8, 3), (["left"], 4, 12), (["right"], 4, 12), (["right", "left"], 8, 3)]
)
def test_every_group_has_as_many_as_the_smallest(cues, groups, each):
    """90 + 9 + 9 + 3 a class: told one cue, its uncommon value has 9 + 3."""
    images = two_cues()
    stream = stream_of(images)
    phase = stream.phases[0]
    learner = made("subg", stream, epoch="subset", cues=cues)
    learner.begin_phase(phase)
    rows = rows_of(learner, phase)
    assert len(rows.unique()) == len(rows) == groups * each
    assert set(Counter(learner.groups_of(images.take(rows)).tolist()).values()) == {each}


def test_the_subset_is_drawn_once_for_a_seed_and_a_phase():
    images = one_cue()
    stream = stream_of(images, one_cue(seed=1))
    first, second = stream.phases
    learner = made("subg", stream, epoch="subset")
    learner.begin_phase(first)
    one, two = rows_of(learner, first, 1), rows_of(learner, first, 2)
    assert one.tolist() != two.tolist()
    assert sorted(one.tolist()) == sorted(two.tolist())
    learner.begin_phase(second)
    assert sorted(rows_of(learner, second).tolist()) != sorted(one.tolist())
    other = made("subg", stream, epoch="subset", seed=8)
    other.begin_phase(first)
    assert sorted(rows_of(other, first).tolist()) != sorted(one.tolist())


def test_an_epoch_has_as_many_images_as_the_phase():
    """200 images, 20 in the subset: ten passes, each of them whole."""
    images = one_cue()
    stream = stream_of(images)
    phase = stream.phases[0]
    learner = made("subg", stream)
    learner.begin_phase(phase)
    batches = list(learner.batches(phase, 1, 16))
    assert [len(batch) for batch in batches] == [16] * 12 + [8]
    rows = torch.cat(batches)
    assert groups_in(images, rows) == dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 50)
    passes = rows.view(10, 20)
    assert len({tuple(sorted(one.tolist())) for one in passes}) == 1
    assert passes[0].tolist() != passes[1].tolist()


@pytest.mark.parametrize(("epoch", "count"), [("phase", 200), ("subset", 20)])
def test_what_is_counted_is_what_was_shown(epoch, count):
    counts = []
    learned(made("subg", stream_of(one_cue()), epoch=epoch), "subg", epochs=3, listener=counts.append)
    assert sum(one["T1"] for one in counts) == 3 * count


def test_one_image_in_the_smallest_group_leaves_one_in_each():
    images = one_cue(common=10, uncommon=1)
    stream = stream_of(images)
    learner = made("subg", stream, epoch="subset")
    learner.begin_phase(stream.phases[0])
    assert groups_in(images, rows_of(learner, stream.phases[0])) == dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 1)


def test_a_group_without_images_is_left_out():
    images = one_cue(common=10, uncommon=0)
    stream = stream_of(images)
    learner = made("subg", stream, epoch="subset")
    learner.begin_phase(stream.phases[0])
    assert groups_in(images, rows_of(learner, stream.phases[0])) == {(0, 0): 10, (1, 1): 10}


def test_a_step_is_one_of_plain_training_on_those_images():
    """With the same rows, the same weights; the rows are what differs from plain training."""
    images = one_cue()
    stream = stream_of(images)
    phase = stream.phases[0]
    subg, plain = made("subg", stream), made("erm", stream)
    subg.begin_phase(phase)
    rows = list(subg.batches(phase, 1, 20))
    plain.batches = lambda *_: rows
    for name, learner in (("subg", subg), ("erm", plain)):
        learned(learner, name, epochs=1)
    for ours, theirs in zip(subg.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    usual = made("erm", stream)
    learned(usual, "erm", epochs=1)
    assert not torch.equal(usual.net.head.weight, subg.net.head.weight)


def test_its_stages_for_estimates_of_time():
    kind = learners["subg"]
    for epoch, share in (("phase", 1.0), ("subset", SUBSET_SHARE)):
        options = learner_options("subg", {"epoch": epoch})
        (stage,) = kind.stages(options, [100, 100], [3, 5], 1)
        assert (stage.passes, kind.workload.share(options, [100, 100], 1)) == (5, share)
    with pytest.raises(InputError, match=r"learners\.subg\.epoch is 'day'"):
        learner_options("subg", {"epoch": "day"})
