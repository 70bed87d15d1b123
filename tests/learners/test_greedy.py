"""Greedy balanced buffers: by hand, by counting, and every image of a group with the same chance."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from einstellung.learners import greedy
from einstellung.learners.greedy import GreedyBuffer, LevelBuffer, fill, take_from

groups = st.lists(st.sampled_from("abcde"), max_size=80)


def offered(buffer, stream, seed=0):
    draws = torch.Generator().manual_seed(seed)
    for row, group in enumerate(stream):
        buffer.offer(row, group, draws)
    return buffer


def sizes(buffer):
    return {group: len(rows) for group, rows in buffer.rows.items()}


def algorithm_1(capacity, stream):
    """Of Prabhu et al. (2020), word for word, with the first of equals in the place of a random choice."""
    counter, data, known = {}, [], []
    for number, label in enumerate(stream):
        share = capacity / len(known) if known else None
        if label not in known or counter[label] < share:
            if sum(counter.values()) >= capacity:
                largest = max(known, key=lambda one: counter[one])  # the first one of equals
                gone = next(entry for entry in data if entry[1] == largest)
                data.remove(gone)
                counter[largest] -= 1
            data.append((number, label))
            if label not in known:
                known.append(label)
            counter[label] = counter.get(label, 0) + 1
    return data


@given(groups, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_it_is_algorithm_1(stream, capacity):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy, "_one_of", lambda count, draws: 0)
        buffer = offered(GreedyBuffer(capacity), stream)
    assert sorted((row, group) for group, rows in buffer.rows.items() for row in rows) == algorithm_1(capacity, stream)


def test_by_hand(monkeypatch):
    """Three places: a a a, then b drives out the a in the middle, then c the first a; c has its place, nothing more enters."""
    choices = iter([0, 1, 0, 0])  # which of the largest groups, which of its images; twice
    monkeypatch.setattr(greedy, "_one_of", lambda count, draws: next(choices))
    buffer = offered(GreedyBuffer(3), "aaaabccba")
    assert buffer.rows == {"a": [2], "b": [4], "c": [5]}
    assert next(choices, None) is None


def test_a_quota_is_kept_even_where_places_are_free():
    """In Algorithm 1, not in a buffer that is filled to one level."""
    assert sizes(offered(GreedyBuffer(10), "ba" + 20 * "a")) == {"b": 1, "a": 5}
    assert sizes(offered(LevelBuffer(10), "ba" + 20 * "a")) == {"b": 1, "a": 9}


@given(groups, st.integers(1, 30), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_level_buffer_is_full_and_even_as_far_as_the_supply_goes(stream, capacity, seed):
    buffer = offered(LevelBuffer(capacity), stream, seed)
    held, supply = sizes(buffer), Counter(stream)
    assert len(buffer) == sum(held.values()) == min(capacity, len(stream))
    most = max(held.values(), default=0)
    for group, count in held.items():
        assert count >= most - 1 or count == supply[group], (held, supply)
    for group, rows in buffer.rows.items():
        assert {stream[row] for row in rows} <= {group}


def test_uneven_groups_differ_by_one_at_most():
    stream = [group for group, count in zip("abcdef", (500, 300, 40, 17, 3, 1), strict=True) for _ in range(count)]
    order = torch.randperm(len(stream), generator=torch.Generator().manual_seed(1))
    held = sizes(offered(LevelBuffer(100), [stream[row] for row in order]))
    assert (held["e"], held["f"], held["d"]) == (3, 1, 17)
    assert sorted(held[group] for group in "abc") == [26, 26, 27]


def classes(phase):
    return [(phase.name, label) for label in phase.train.labels.tolist()]


def test_a_filled_buffer_belongs_to_seed_and_phases(tasks):
    def rows(seed, phases=tasks):
        return fill(GreedyBuffer(12), phases, classes, seed).tolist()

    assert rows(1) == rows(1) != rows(2)
    assert rows(1) == sorted(set(rows(1)))
    assert len(rows(1)) == 12
    assert {row // 36 for row in rows(1)} == {0, 1, 2}
    assert {row // 36 for row in rows(1, tasks[:2])} == {0, 1}


def test_no_image_of_a_class_is_preferred(tasks):
    """Neither by its place in the phase nor by what is driven out later."""
    counts = torch.zeros(3, 36)
    for seed in range(300):
        rows = fill(GreedyBuffer(12), tasks, classes, seed)
        counts[rows // 36, rows % 36] += 1
    assert int(counts.sum()) == 300 * 12
    assert chisquare(counts.flatten().numpy()).pvalue > 1e-3


def test_rows_are_taken_from_the_phase_they_belong_to(tasks):
    rows = torch.tensor([0, 35, 36, 71, 72, 107])
    taken = take_from(tasks, rows)
    assert taken.index.tolist() == [0, 35, 100, 135, 200, 235]
    assert torch.equal(taken.images[2], tasks[1].train.images[0])
    assert torch.equal(taken.features[-1], tasks[2].train.features[-1])
