"""Wilson's interval against scipy's, Newcombe's against his own worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from einstellung.metrics.proportions import difference_interval, exact_interval, wilson_interval


@given(st.integers(1, 2000), st.data())
def test_wilson_is_scipys(n, data):
    right = data.draw(st.integers(0, n))
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    low, high = wilson_interval(right / n, n)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)


# Newcombe (1998), table II, method 10.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_differences_are_newcombes(first, second, low, high):
    shares = [right / n for right, n in (first, second)]
    found = difference_interval(
        shares[0], wilson_interval(shares[0], first[1]), shares[1], wilson_interval(shares[1], second[1])
    )
    assert found == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_a_difference_turns_round_with_its_sides():
    one, other = (0.8, (0.7, 0.95)), (0.5, (0.45, 0.52))
    low, high = difference_interval(*one, *other)
    assert difference_interval(*other, *one) == (pytest.approx(-high), pytest.approx(-low))


@pytest.mark.parametrize(("share", "n"), [(0.5, 0), (1.1, 10), (-0.1, 10)])
def test_what_is_no_share_is_refused(share, n):
    with pytest.raises(ValueError, match="at least one image"):
        wilson_interval(share, n)


@given(st.integers(1, 500), st.data())
def test_the_exact_interval_is_scipys(n, data):
    right = data.draw(st.integers(0, n))
    expected = binomtest(right, n).proportion_ci(0.95, method="exact")
    low, high = exact_interval(right / n, n)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)


@pytest.mark.parametrize(("share", "n"), [(0.5, 0), (1.1, 10)])
def test_the_exact_interval_refuses_what_is_no_share(share, n):
    with pytest.raises(ValueError, match="at least one example"):
        exact_interval(share, n)
