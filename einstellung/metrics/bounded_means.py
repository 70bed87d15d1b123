"""The mean of a bounded quantity over examples: a score interval and test that keep their coverage near the bounds.

For paired outcomes: an example's change in right answers is 0 for nearly all examples of two good models, so that its sample
variance is too small, or 0, exactly where it matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtri

from einstellung.metrics.proportions import Interval

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class BoundedMean:
    """A mean over ``n`` examples, its interval, and the two-sided p of the test that it is 0."""

    n: int
    mean: float
    interval: Interval
    p: float


class _Counts:
    """The distinct values and how often each occurs, with the bounds of what a value can be."""

    def __init__(self, values: npt.ArrayLike, low: float, high: float) -> None:
        sample = np.asarray(values, dtype=np.float64)
        if sample.ndim != 1 or not len(sample) or not (low <= sample).all() or not (sample <= high).all():
            raise ValueError(f"values between {low} and {high} are needed, at least one")
        distinct, counts = np.unique(sample, return_counts=True)
        self.values: list[float] = distinct.tolist()
        self.counts: list[int] = counts.tolist()
        self.low, self.high, self.n = float(low), float(high), len(sample)
        self.mean = float(sample.mean())

    def variance(self, theta: float) -> float:
        r"""Of the maximum-likelihood distribution on the values and both bounds whose mean is ``theta``."""
        if not self.low < theta < self.high:
            return 0.0
        if abs(theta - self.mean) < _TOLERANCE:
            return sum(c * (v - theta) ** 2 for v, c in zip(self.values, self.counts, strict=True)) / self.n
        # p_k = c_k / (n (1 + lambda (v_k - theta))); lambda keeps 1 + lambda (v - theta) >= 0 at the far bound
        far = self.high if theta > self.mean else self.low
        edge = -1.0 / (far - theta)
        gap = self._moment(edge, theta) if far not in self.values else math.inf * (far - theta)
        if (gap > 0) if far == self.high else (gap < 0):  # the values reach theta without mass on an unseen bound
            inner = edge if math.isfinite(gap) else edge * (1 - 1e-13)
            multiplier = float(brentq(self._moment, inner, 0.0, args=(theta,), xtol=1e-15, rtol=1e-13))
            left = 0.0
        else:
            multiplier = edge
            left = 1.0 - sum(self._shares(edge, theta))
        shares = self._shares(multiplier, theta)
        own = sum(share * (v - theta) ** 2 for share, v in zip(shares, self.values, strict=True))
        return own + max(0.0, left) * (far - theta) ** 2

    def _shares(self, multiplier: float, theta: float) -> list[float]:
        return [c / (self.n * (1 + multiplier * (v - theta))) for v, c in zip(self.values, self.counts, strict=True)]

    def _moment(self, multiplier: float, theta: float) -> float:
        return sum(s * (v - theta) for s, v in zip(self._shares(multiplier, theta), self.values, strict=True))

    def statistic(self, theta: float) -> float:
        difference = self.mean - theta
        if abs(difference) < _TOLERANCE:
            return 0.0
        variance = self.variance(theta)
        return math.copysign(math.inf, difference) if variance <= 0 else difference * math.sqrt(self.n / variance)


def bounded_mean(values: npt.ArrayLike, low: float, high: float, level: float = 0.95) -> BoundedMean:
    r"""The mean of values between ``low`` and ``high``, with its score interval and score test.

    The interval holds every :math:`\theta` that the score test does not reject:

    .. math:: \left\{ \theta : \frac{|\bar d - \theta|}{\sqrt{\tilde\sigma^2(\theta) / n}} \le z \right\}, \quad
        \tilde\sigma^2(\theta) = \sum_k \tilde p_k (v_k - \theta)^2

    where :math:`\tilde p` maximises :math:`\sum_k c_k \log p_k` over the distributions on the observed values :math:`v_k`
    (with counts :math:`c_k`) and both bounds that have the mean :math:`\theta`:
    :math:`\tilde p_k = c_k / (n (1 + \lambda (v_k - \theta)))`. With bounds 0 and 1 this is Wilson's interval, with -1 and 1 and
    differences of paired answers it is Tango's (1998). It stays within the bounds and has a width where all values are equal:
    the variance comes from the mean that is tested, not from the sample.

    >>> found = bounded_mean([1] * 90 + [0] * 10, 0, 1)
    >>> [round(bound, 4) for bound in found.interval]  # Wilson's
    [0.8256, 0.9448]
    >>> [round(bound, 4) for bound in bounded_mean([0] * 200, -2, 2).interval]
    [-0.0377, 0.0377]
    """
    counts = _Counts(values, low, high)
    z = float(ndtri(0.5 + level / 2))
    lower = _end(counts, counts.low, z)
    upper = _end(counts, counts.high, -z)
    p = math.erfc(abs(counts.statistic(0.0)) / math.sqrt(2)) if low <= 0 <= high else 0.0
    return BoundedMean(counts.n, counts.mean, (lower, upper), p)


def _end(counts: _Counts, bound: float, z: float) -> float:
    """Where the statistic is ``z``, between the mean and a bound."""
    if abs(counts.mean - bound) < _TOLERANCE:
        return bound
    inside = bound + (counts.mean - bound) * 1e-9
    if abs(counts.statistic(inside)) <= abs(z):
        return bound
    near = counts.mean + (bound - counts.mean) * 1e-9
    return float(brentq(lambda theta: counts.statistic(theta) - z, inside, near, xtol=1e-9))
