"""Similarity of representations: linear CKA from the unbiased estimator of HSIC, with an interval over images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.metrics.clusters import percentile_interval

FloatArray = npt.NDArray[np.float64]

FEWEST = 4  # images that HSIC_1 is defined for
RESAMPLES = 500
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Similarity:
    """CKA over all images, and the middle 95 % of its values over random halves of them; None where undefined."""

    value: float | None
    ci95: tuple[float, float] | None
    n: int


def linear_gram(features: npt.ArrayLike) -> FloatArray:
    """K = X X^T of centred features [images, dimensions], with a zero diagonal, as HSIC_1 uses it.

    Centring changes nothing on paper: HSIC_1 ignores what is constant along rows or columns. It keeps digits in floats.

    >>> linear_gram([[1.0], [3.0]]).tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    x = np.asarray(features, dtype=np.float64)
    x = x.reshape(len(x), -1)
    centred = x - x.mean(axis=0)
    if np.abs(centred).max() <= _ROUNDING * np.abs(x).max():
        centred = np.zeros_like(x)  # a constant representation: what is left is rounding
    gram: FloatArray = centred @ centred.T
    np.fill_diagonal(gram, 0.0)
    return gram


def hsic(K: FloatArray, L: FloatArray) -> float:
    r"""HSIC_1, the unbiased estimator of the Hilbert-Schmidt independence criterion (Song et al. 2012).

    With :math:`\tilde K, \tilde L` the kernel matrices of the same n images, their diagonals set to 0:

    .. math:: HSIC_1 = \frac1{n(n-3)} \left[ tr(\tilde K \tilde L)
              + \frac{1^T \tilde K 1 \; 1^T \tilde L 1}{(n-1)(n-2)} - \frac{2}{n-2}\, 1^T \tilde K \tilde L 1 \right]

    Its expectation is 0 for independent features, so a single value may be negative.

    >>> K = linear_gram([[0.0], [1.0], [2.0], [4.0], [8.0]])
    >>> round(hsic(K, K), 3)
    52.667
    """
    return float(_hsic_of_subsets(K, L, np.ones((1, len(K))))[0])


def linear_cka(K: FloatArray, L: FloatArray) -> float | None:
    r"""Linear centred kernel alignment (Kornblith et al. 2019) from :func:`hsic`, not clamped: noise may make it negative.

    .. math:: CKA = HSIC_1(K, L) / \sqrt{HSIC_1(K, K)\, HSIC_1(L, L)}

    1 for representations that are equal up to rotation and isotropic scaling. ``K`` and ``L`` come from :func:`linear_gram`. None
    for fewer than four images, and where a representation does not vary.

    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [4.0, 1.0], [8.0, 2.0]])
    >>> round(linear_cka(linear_gram(X), linear_gram(-3 * X[:, ::-1])), 12)
    1.0
    """
    value = float(_cka_of_subsets(K, L, np.ones((1, len(K))))[0]) if len(K) >= FEWEST else np.nan
    return None if np.isnan(value) else value


def similarity(K: FloatArray, L: FloatArray, *, resamples: int = RESAMPLES, seed: int = 0) -> Similarity:
    """:func:`linear_cka` with its half-sample bootstrap interval over images.

    Every draw takes n/2 of the images without replacement, which spreads as much as n drawn with replacement do to first order
    (Politis and Romano 1994). Drawing with replacement would pair images with themselves, and HSIC_1 would no longer be unbiased.

    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> found = similarity(linear_gram(X), linear_gram(X))
    >>> round(found.value, 12), [round(end, 12) for end in found.ci95], found.n
    (1.0, [1.0, 1.0], 40)
    """
    n = len(K)
    value = linear_cka(K, L)
    if value is None or n < 2 * FEWEST:
        return Similarity(value, None, n)
    # the first n/2 of a random order are a random half
    ranks = np.random.default_rng(seed).random((resamples, n)).argsort(axis=1)
    halves = (ranks < n // 2).astype(np.float64)
    return Similarity(value, percentile_interval(_cka_of_subsets(K, L, halves)), n)


def _cka_of_subsets(K: FloatArray, L: FloatArray, subsets: FloatArray) -> FloatArray:
    own = _hsic_of_subsets(K, K, subsets) * _hsic_of_subsets(L, L, subsets)
    scale = np.sqrt(np.where(own > 0, own, np.nan))
    values: FloatArray = _hsic_of_subsets(K, L, subsets) / scale
    return values


def _hsic_of_subsets(K: FloatArray, L: FloatArray, subsets: FloatArray) -> FloatArray:
    """HSIC_1 of every subset of the images, a row of zeros and ones each; all of them in four matrix products."""
    n = subsets.sum(axis=1)
    of_k, of_l = subsets @ K, subsets @ L
    trace = ((subsets @ (K * L)) * subsets).sum(axis=1)
    totals = (of_k * subsets).sum(axis=1) * (of_l * subsets).sum(axis=1)
    crossed = (of_k * of_l * subsets).sum(axis=1)
    values: FloatArray = (trace + totals / ((n - 1) * (n - 2)) - 2 / (n - 2) * crossed) / (n * (n - 3))
    return values
