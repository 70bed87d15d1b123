"""Flips: by hand, and what ties them to accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.metrics.flips import Flips, flips


def test_by_hand():
    assert flips([1, 1, 1, 0, 0], [0, 0, 1, 1, 0]) == Flips(5, 0.4, 0.2)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_their_difference_is_the_accuracy_lost(pairs):
    before, after = map(np.array, zip(*pairs, strict=True))
    found = flips(before, after)
    assert found.negative - found.positive == pytest.approx(before.mean() - after.mean())
    assert flips(after, before) == Flips(found.n, found.positive, found.negative)


@pytest.mark.parametrize(("before", "after"), [([True], [True, False]), ([], [])])
def test_other_images_are_refused(before, after):
    with pytest.raises(ValueError, match="the same images"):
        flips(before, after)
