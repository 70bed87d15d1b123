"""How many images each group gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.composites.groups import check_correlations, group_counts, group_shares, is_even
from einstellung.errors import InputError

RHO = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.9, 0.95, 1.0])


def test_the_published_counts():
    assert list(group_counts(4000, (0.95, 0.95)).values()) == [3610, 190, 190, 10]
    assert list(group_counts(125 * 4, (0.5, 0.5)).values()) == [125] * 4


def test_counts_worked_by_hand():
    assert group_counts(20, (0.95, 0.95)) == {(1, 1): 17, (1, 0): 1, (0, 1): 1, (0, 0): 1}
    assert group_counts(100, (1.0, 0.8)) == {(1, 1): 80, (1, 0): 20, (0, 1): 0, (0, 0): 0}
    assert list(group_counts(80, (0.5, 0.75, 1.0)).values()) == [30, 0, 10, 0, 30, 0, 10, 0]


@given(st.integers(8, 5000), st.lists(RHO, min_size=2, max_size=3))
def test_all_images_are_used_and_no_possible_group_is_empty(count, correlations):
    counts, shares = group_counts(count, correlations), group_shares(correlations)
    assert sum(counts.values()) == count
    assert abs(sum(shares.values()) - 1) < 1e-9
    raised = sum(0 < share * count < 1 for share in shares.values())
    for pattern, share in shares.items():
        assert (counts[pattern] > 0) == (share > 0)
        assert abs(counts[pattern] - share * count) <= 1 + (raised if share * count > 1 else 0)


@given(st.integers(4, 400))
def test_an_even_number_has_a_correlation_of_exactly_one_half(count):
    counts = group_counts(count, (0.95, 0.5))
    exact = counts[1, 1] + counts[0, 1] == counts[1, 0] + counts[0, 0]
    assert not is_even(count, (0.95, 0.5)) or exact


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([], "phases is empty"),
        ([(0.95,)], "phases have 1 correlations"),
        ([(0.95, 0.95), (0.5, 0.5, 0.5)], "phases have 2 or 3 correlations"),
        ([(0.95, 1.2)], "a correlation is 1.2"),
    ],
)
def test_wrong_correlations_are_named(phases, words):
    with pytest.raises(InputError, match=words):
        check_correlations(phases)


def test_too_few_images_for_the_groups():
    with pytest.raises(InputError, match="3 images per class are too few for 4 groups"):
        group_counts(3, (0.95, 0.95))
