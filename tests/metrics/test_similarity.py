"""Linear CKA: against the formula as printed, against U-centring, against ckatorch, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ckatorch.hsic import hsic1
from hypothesis import given, settings
from hypothesis import strategies as st

from einstellung.metrics.similarity import hsic, linear_cka, linear_gram, similarity

DRAWS = np.random.default_rng(11)


def as_printed(X: np.ndarray, Y: np.ndarray) -> float:  # noqa: N803 (the formula's own letters)
    """Song et al.'s formula by loops over images, from features that nobody centred."""
    n = len(X)
    K, L = X @ X.T, Y @ Y.T  # noqa: N806
    trace = sum(K[i, j] * L[j, i] for i in range(n) for j in range(n) if i != j)
    total_k = sum(K[i, j] for i in range(n) for j in range(n) if i != j)
    total_l = sum(L[i, j] for i in range(n) for j in range(n) if i != j)
    crossed = sum(K[i, j] * L[j, k] for i in range(n) for j in range(n) for k in range(n) if i != j and j != k)
    return (trace + total_k * total_l / ((n - 1) * (n - 2)) - 2 / (n - 2) * crossed) / (n * (n - 3))


def u_centred(X: np.ndarray) -> np.ndarray:  # noqa: N803
    """Székely and Rizzo's U-centring, from which HSIC_1 follows as a plain inner product."""
    K = X @ X.T  # noqa: N806
    n = len(K)
    np.fill_diagonal(K, 0)
    centred = K - K.sum(0) / (n - 2) - K.sum(1)[:, None] / (n - 2) + K.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    return centred


@pytest.mark.parametrize("n", [4, 5, 9])
def test_hsic_is_the_printed_formula_and_the_u_centred_product(n):
    X, Y = DRAWS.normal(2, 1, (n, 3)), DRAWS.normal(-1, 2, (n, 2))  # noqa: N806
    found = hsic(linear_gram(X), linear_gram(Y))
    assert found == pytest.approx(as_printed(X, Y), abs=1e-9)
    assert found == pytest.approx((u_centred(X) * u_centred(Y)).sum() / (n * (n - 3)), abs=1e-9)


def test_cka_agrees_with_ckatorch():
    X, Y = DRAWS.normal(size=(30, 7)), DRAWS.normal(size=(30, 5))  # noqa: N806
    Y[:, :3] += X[:, :3]
    one, other = (torch.from_numpy(features @ features.T)[None] for features in (X, Y))
    expected = hsic1(one, other) / (hsic1(one, one) * hsic1(other, other)).sqrt()
    assert linear_cka(linear_gram(X), linear_gram(Y)) == pytest.approx(float(expected), abs=1e-10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.floats(1e-3, 1e3), st.floats(-50, 50))
def test_rotation_isotropic_scaling_and_shift_change_nothing(seed, scale, shift):
    draws = np.random.default_rng(seed)
    X, Y = draws.normal(size=(12, 4)), draws.normal(size=(12, 6))  # noqa: N806
    turned, _ = np.linalg.qr(draws.normal(size=(4, 4)))
    before, after = (linear_cka(linear_gram(one), linear_gram(Y)) for one in (X, scale * X @ turned + shift))
    assert after == pytest.approx(before, abs=1e-8)


def test_another_linear_map_does_change_it():
    X = DRAWS.normal(size=(40, 4))  # noqa: N806
    stretched = X * [10, 1, 1, 0.1]
    assert linear_cka(linear_gram(X), linear_gram(stretched)) < 0.9


def test_independent_features_are_expected_at_zero():
    """The biased estimator would be far above 0 here: 20 images in 50 dimensions."""
    found = np.array(
        [
            linear_cka(linear_gram(DRAWS.normal(size=(20, 50))), linear_gram(DRAWS.normal(size=(20, 50))))
            for _ in range(400)
        ]
    )
    assert abs(found.mean()) < 4 * found.std() / 20
    assert (found < 0).mean() == pytest.approx(0.5, abs=0.12)  # not clamped


def test_what_does_not_vary_has_no_similarity():
    X = DRAWS.normal(size=(10, 3))  # noqa: N806
    constant = np.full((10, 3), 0.1)
    assert linear_cka(linear_gram(X), linear_gram(constant)) is None
    assert similarity(linear_gram(X[:3]), linear_gram(X[:3])).value is None
    few = similarity(linear_gram(X[:7]), linear_gram(X[:7]))
    assert few.value == pytest.approx(1)
    assert few.ci95 is None


def test_the_interval_covers_the_population_value():
    """300 samples of 60 images: the interval over images holds the CKA of the population in about 95 % of them."""
    mixing = DRAWS.normal(size=(3, 3))

    def pair(n):
        X = DRAWS.normal(size=(n, 3))  # noqa: N806
        return linear_gram(X), linear_gram(X @ mixing + DRAWS.normal(size=(n, 3)))

    truth = linear_cka(*pair(3000))
    held = 0
    for _ in range(300):
        low, high = similarity(*pair(60), resamples=200).ci95
        held += low <= truth <= high
    assert 0.88 <= held / 300 <= 1


def test_the_interval_repeats_itself():
    X, Y = linear_gram(DRAWS.normal(size=(20, 3))), linear_gram(DRAWS.normal(size=(20, 3)))  # noqa: N806
    assert similarity(X, Y) == similarity(X, Y)
