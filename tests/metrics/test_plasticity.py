"""Dormant units and ranks: by hand, by another formula, and what must hold for any matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.metrics.plasticity import dormant_share, effective_rank, stable_rank

DRAWS = np.random.default_rng(5)


def test_dormant_by_hand():
    """Scores 0, 0.02, 0.025, 3.955: the bound itself is dormant."""
    activity = np.array([0.0, 0.02, 0.025, 3.955])
    assert dormant_share(activity, 0.0) == 0.25
    assert dormant_share(activity, 0.025) == 0.75
    assert dormant_share(activity * 1000, 0.025) == 0.75  # a score is relative to its layer
    assert dormant_share(np.zeros(4), 0.0) == 1.0


def test_effective_rank_by_hand():
    """Singular values 3 and 1: p = 3/4 and 1/4."""
    expected = np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 6), st.floats(1e-3, 1e3))
def test_ranks_lie_between_one_and_the_rank_whatever_the_scale_and_the_rotation(seed, rank, scale):
    draws = np.random.default_rng(seed)
    matrix = draws.normal(size=(10, rank)) @ draws.normal(size=(rank, 7))
    turned, _ = np.linalg.qr(draws.normal(size=(7, 7)))
    for measure in (effective_rank, stable_rank):
        found = measure(matrix)
        assert 1 - 1e-9 <= found <= rank + 1e-6
        assert measure(scale * matrix @ turned) == pytest.approx(found)


def test_stable_rank_from_norms():
    matrix = DRAWS.normal(size=(8, 5))
    expected = np.linalg.norm(matrix, "fro") ** 2 / np.linalg.norm(matrix, 2) ** 2
    assert stable_rank(matrix) == pytest.approx(expected)


def test_a_matrix_of_zeros_has_neither():
    assert effective_rank(np.zeros((3, 2))) is None
    assert stable_rank(np.zeros((3, 2))) is None
