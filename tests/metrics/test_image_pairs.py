"""Pairs of images are matched by identity, and McNemar's counts and p are those worked out by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.errors import InputError
from einstellung.metrics.image_pairs import masking, masking_of_runs, matching, paired, same_images
from einstellung.timeline import NSC, NSC_PATCHED, SC_MASK, SC_PATCH

from .predictions import marked, predictions, split


def run(both, first, second, neither):
    patched, masked = marked(both, first, second, neither)
    return predictions(split(SC_PATCH, patched), split(SC_MASK, masked))


def test_pairs_follow_identity_whatever_the_order():
    frame = predictions(split(SC_PATCH, [0, 1, 2], [0, 1, 2]), split(SC_MASK, [5, 6, 7], [0, 1, 2]))
    shuffled = frame.iloc[[0, 1, 2, 5, 3, 4]]
    for table in (frame, shuffled):
        pairs = paired(table, SC_PATCH, SC_MASK)
        assert (pairs.label.tolist(), pairs.first.tolist(), pairs.second.tolist()) == ([0, 1, 2], [0, 1, 2], [5, 6, 7])


def test_a_split_that_was_not_stored_makes_no_pair():
    assert paired(predictions(split(SC_PATCH, [0])), SC_PATCH, SC_MASK) is None


@pytest.mark.parametrize(
    ("masked", "message"),
    [
        (split(SC_MASK, [0, 0, 0], first=101), "do not hold the same images (3 and 3, 2 of them in one only"),
        (split(SC_MASK, [0, 0]), "do not hold the same images (3 and 2, 1 of them in one only, e.g. image 102)"),
        (split(SC_MASK, [0, 0]) + split(SC_MASK, [0]), "T2_shortcut_masked holds image 100 twice"),
        (split(SC_MASK, [0, 0, 0], [0, 3, 0]), "image 101 has one label in T2_shortcut_normal and another in"),
    ],
)
def test_what_is_no_pair_is_refused_and_named(masked, message):
    frame = predictions(split(SC_PATCH, [0, 0, 0]), masked)
    with pytest.raises(InputError) as caught:
        paired(frame, SC_PATCH, SC_MASK)
    assert message in str(caught.value)
    assert matching(frame, SC_PATCH, SC_MASK) is None
    check = same_images({("sgd", 1): run(1, 1, 0, 0), ("sgd", 2): frame})
    assert check.passed is False
    assert "sgd seed 2: " in check.detail
    assert message in check.detail
    assert "sgd seed 1" not in check.detail


def test_the_check_counts_pairs_and_knows_when_there_are_none():
    nonshortcut = split(NSC, [5], 5, first=7) + split(NSC_PATCHED, [0], 5, first=7)
    both = pd.concat([run(1, 1, 0, 0), predictions(nonshortcut)])
    assert same_images({("sgd", 1): both}).detail.startswith("2 pairs of splits in 1 runs")
    assert same_images({("sgd", 1): predictions(split(SC_PATCH, [0]))}).passed is None


def test_counts_and_p_by_hand():
    """b = 7, c = 1: p = 2 (C(8,0) + C(8,1)) / 2**8 = 18 / 256."""
    found = masking(paired(run(3, 7, 1, 4), SC_PATCH, SC_MASK))
    assert (found.n, found.both_right, found.only_patched, found.only_masked, found.both_wrong) == (15, 3, 7, 1, 4)
    assert found.p == pytest.approx(18 / 256)


@given(st.tuples(*[st.integers(0, 12)] * 4).filter(any))
def test_p_is_twice_the_smaller_binomial_tail(counts):
    _, first, second, _ = counts
    found = masking(paired(run(*counts), SC_PATCH, SC_MASK))
    tail = sum(comb(first + second, k) for k in range(min(first, second) + 1)) / 2 ** (first + second)
    assert found.p == pytest.approx(min(1.0, 2 * tail))
    assert (found.both_right, found.only_patched, found.only_masked, found.both_wrong) == counts
    assert found.n == sum(counts)


def test_holm_runs_over_all_methods_and_seeds():
    """p = 2/2**5, 2/2**6, 2/2**8 times 3 (smallest first), 2, 1, never falling."""
    runs = {("a", 1): run(0, 5, 0, 0), ("a", 2): run(0, 6, 0, 0), ("b", 1): run(0, 8, 0, 0)}
    found = masking_of_runs({**runs, ("b", 2): predictions(split(SC_PATCH, [0]))})
    assert list(found) == list(runs)
    assert [counts.p for counts in found.values()] == pytest.approx([1 / 16, 1 / 32, 1 / 128])
    assert [counts.p_holm for counts in found.values()] == pytest.approx([1 / 16, 1 / 16, 3 / 128])


def test_numbers_are_plain_ones():
    values = masking(paired(run(1, 2, 3, 4), SC_PATCH, SC_MASK)).to_dict().values()
    assert not any(isinstance(value, np.generic) for value in values)
