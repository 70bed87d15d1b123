"""Pairs of images are matched by identity."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.metrics.image_pairs import by_split, matching, paired
from einstellung.timeline import SC_MASK, SC_PATCH

from .predictions import predictions, split, table


def test_pairs_follow_identity_whatever_the_order():
    rows = table(split(SC_PATCH, [0, 1, 2], [0, 1, 2]), split(SC_MASK, [5, 6, 7], [0, 1, 2]))
    for order in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 5, 3, 4], [4, 0, 5, 1, 3, 2]):
        pairs = paired(by_split(rows.iloc[order]), SC_PATCH, SC_MASK)
        assert (pairs.label.tolist(), pairs.first.tolist(), pairs.second.tolist()) == ([0, 1, 2], [0, 1, 2], [5, 6, 7])


def test_a_split_that_was_not_stored_makes_no_pair():
    assert paired(predictions(split(SC_PATCH, [0])), SC_PATCH, SC_MASK) is None


@pytest.mark.parametrize(
    ("masked", "message"),
    [
        (
            split(SC_MASK, [0, 0, 0], first=101),
            "do not contain the same images (3 and 3, 2 in only one of them, e.g. image 100)",
        ),
        (split(SC_MASK, [0, 0]), "do not contain the same images (3 and 2, 1 in only one of them, e.g. image 102)"),
        (split(SC_MASK, [0, 0]) + split(SC_MASK, [0]), "T2_shortcut_masked contains image 100 twice"),
        (split(SC_MASK, [0, 0, 0], [0, 3, 0]), "image 101 has one label in T2_shortcut_normal and another in"),
    ],
)
def test_what_is_no_pair_is_refused_and_named(masked, message):
    frame = predictions(split(SC_PATCH, [0, 0, 0]), masked)
    with pytest.raises(InputError) as caught:
        paired(frame, SC_PATCH, SC_MASK)
    assert message in str(caught.value)
    assert matching(frame, SC_PATCH, SC_MASK) is None
