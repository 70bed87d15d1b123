"""Groups: their numbers, draws in which they are equally likely, subsets in which they are equally large, and what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.experiments.assembly import check_groups, resolve
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.groups import balanced_batches, balanced_subset, cue_bits, group_numbers
from einstellung.results.config import build_config
from tests.learners.mitigation.points import made, one_cue, stream_of, two_cues

METHODS = ("gdro", "di", "subg", "dfr")


def test_which_bits_count():
    stream = stream_of(two_cues())
    assert cue_bits(stream, None) == (0, 1)
    assert cue_bits(stream, ("right",)) == (1,)
    assert cue_bits(stream, ("right", "left")) == (1, 0)
    unnamed = replace(stream, cue_names=())
    assert cue_bits(unnamed, None) == (0, 1)  # as many as the features have
    assert made("di", stream, cues=["left"]).bits == (0,)


def test_a_planted_cue_is_the_one_bit(make, stream):
    assert cue_bits(stream, None) == cue_bits(stream, ("cue",)) == (0,)
    t2 = stream.phases[1].train
    assert torch.equal(group_numbers(t2, (0,)), 2 * t2.labels + t2.has_cue)


def test_group_numbers_by_hand():
    images = two_cues(common=1, one=1, none=1)
    row_of = dict(zip(zip(images.labels.tolist(), images.features.tolist(), strict=True), range(8), strict=True))
    for bits, number in (
        ((0,), lambda y, v: 2 * y + v % 2),
        ((1,), lambda y, v: 2 * y + v // 2),
        ((0, 1), lambda y, v: 4 * y + v),
        ((1, 0), lambda y, v: 4 * y + {0: 0, 1: 2, 2: 1, 3: 3}[v]),
    ):
        groups = group_numbers(images, bits)
        assert {pair: int(groups[row]) for pair, row in row_of.items()} == {pair: number(*pair) for pair in row_of}


def test_balanced_draws_by_counting():
    """Sizes 700, 250, 50: each group a third of all draws, each of its images as often as any other of them."""
    groups = torch.tensor([4] * 700 + [0] * 250 + [9] * 50)
    draws = torch.Generator().manual_seed(3)
    rows = torch.cat([torch.cat(balanced_batches(groups, 64, draws)) for _ in range(60)])
    assert len(rows) == 60 * 1000
    drawn = Counter(groups[rows].tolist())
    for group in (4, 0, 9):
        assert drawn[group] / len(rows) == pytest.approx(1 / 3, abs=0.01)  # 5 standard deviations
    of_smallest = torch.bincount(rows[rows >= 950] - 950, minlength=50)
    assert of_smallest.min() > 300  # 400 +- 20 each
    assert of_smallest.max() < 500
    assert [len(batch) for batch in balanced_batches(groups, 64, draws)] == [64] * 15 + [40]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 9))
def test_a_balanced_subset_is_as_large_as_can_be(groups, seed):
    rows = balanced_subset(torch.tensor(groups), torch.Generator().manual_seed(seed)).tolist()
    supply, kept = Counter(groups), Counter(groups[row] for row in rows)
    assert kept == dict.fromkeys(supply, min(supply.values()))
    assert rows == sorted(set(rows))


def test_any_image_of_a_large_group_may_be_in_the_subset():
    groups = torch.tensor([0] * 10 + [1] * 2)
    sets = [balanced_subset(groups, torch.Generator().manual_seed(seed)).tolist() for seed in range(60)]
    assert {row for rows in sets for row in rows} == set(range(12))
    assert all({10, 11} <= set(rows) for rows in sets)


@pytest.mark.parametrize("method", METHODS)
def test_they_say_what_they_need(method):
    kind = learners[method]
    assert kind.needs_groups
    assert not kind.shares_first_phase(learner_options(method, {}))
    assert kind.combines == (method in ("gdro", "di"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("cues", "words"),
    [
        (["tail"], "'cues' names 'tail', which the stream 'points' does not have; it has: left"),
        ([], r"cues is \[\]: name cues once each, or give null for all"),
        (["left", "left"], r"cues is \['left', 'left'\]: name cues once each"),
        ("left", "learners.*cues is 'left'"),
    ],
)
def test_wrong_cues_are_named(method, cues, words):
    with pytest.raises(InputError, match=words):
        made(method, stream_of(one_cue()), cues=cues)


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_that_does_not_know_the_features_is_refused(method):
    config = resolve(build_config({"methods": [method], "learners": {method: {"cues": ["left"]}}}))
    assert list(config.learners[method]["cues"]) == ["left"]
    known = stream_of(one_cue())
    check_groups(config, known)
    unknown = tuple(replace(phase, train=replace(phase.train, features=None)) for phase in known.phases)
    with pytest.raises(InputError, match=f"{method} needs the spurious features of every image"):
        check_groups(config, replace(known, phases=unknown))
