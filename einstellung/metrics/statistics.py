"""Uncertainty over seeds: intervals, paired tests, effect sizes, corrections for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

FloatArray = npt.NDArray[np.float64]

BOOTSTRAP_FROM = 8  # below this many seeds a bootstrap resamples too few values to say more than the t interval
RESAMPLES = 9999
BOOTSTRAP_SEED = 20250101
NO_SPREAD = 1e-12  # differences of k / n that are equal on paper differ by rounding in floats


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (ddof 1) and 95 % interval over seeds; None where undefined."""

    mean: float | None
    sd: float | None
    n: int
    ci95: tuple[float, float] | None
    interval: str

    def to_dict(self) -> dict[str, Any]:
        ci95 = list(self.ci95) if self.ci95 is not None else None
        return {"mean": self.mean, "sd": self.sd, "n": self.n, "ci95": ci95, "interval": self.interval}


def mean_and_sd(values: Sequence[float | None]) -> tuple[float | None, float | None, int]:
    r"""Mean, standard deviation and number of the defined values.

    .. math:: \bar x = \frac1n \sum_i x_i, \qquad s^2 = \frac1{n-1} \sum_i (x_i - \bar x)^2

    >>> mean_and_sd([1.0, 3.0, None])
    (2.0, 1.4142135623730951, 2)
    """
    defined = _defined(values)
    if len(defined) == 0:
        return None, None, 0
    return float(defined.mean()), _sd(defined) if len(defined) > 1 else None, len(defined)


def summarise(values: Sequence[float | None]) -> Summary:
    r"""Summarise one value per seed; undefined ones (None) are left out and ``n`` says how many count.

    .. math:: \bar x \pm t_{0.975,\,n-1}\, s / \sqrt n

    up to seven values; from eight on a bootstrap interval (bias-corrected and accelerated, seeded).

    >>> low, high = summarise([0.1, 0.2, 0.3, None]).ci95
    >>> round(low, 4), round(high, 4)
    (-0.0484, 0.4484)
    >>> summarise([0.1]).interval
    'n = 1: no interval'
    """
    return summarise_all({"": values})[""]


def summarise_all(facets: Mapping[str, Sequence[float | None]]) -> dict[str, Summary]:
    """:func:`summarise` for many facets at once: those with equally many values share one resampling.

    >>> summarise_all({"PD": [0.1, 0.3], "AD": [None, None]})["AD"].interval
    'none'
    """
    summaries: dict[str, Summary] = {}
    many: dict[int, list[str]] = {}
    for name, values in facets.items():
        mean, sd, n = mean_and_sd(values)
        if mean is None:
            summaries[name] = Summary(None, None, 0, None, "none")
        elif sd is None:
            summaries[name] = Summary(mean, None, n, None, "n = 1: no interval")
        elif n < BOOTSTRAP_FROM:
            half = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
            summaries[name] = Summary(mean, sd, n, (mean - half, mean + half), "t")
        else:
            summaries[name] = Summary(mean, sd, n, None, "bootstrap")
            many.setdefault(n, []).append(name)
    for names in many.values():
        intervals = bootstrap_intervals(np.array([_defined(facets[name]) for name in names]))
        for name, ci95 in zip(names, intervals, strict=True):
            summaries[name] = replace(summaries[name], ci95=ci95)
    return summaries


def _defined(values: Sequence[float | None]) -> FloatArray:
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _sd(values: FloatArray) -> float:
    sd = float(values.std(ddof=1))
    return sd if sd > NO_SPREAD else 0.0


def bootstrap_intervals(samples: npt.ArrayLike, level: float = 0.95) -> list[tuple[float, float]]:
    r"""BCa bootstrap interval of the mean of each row: the same values always give the same interval.

    Percentiles :math:`\Phi(z_0 + (z_0 + z_\alpha) / (1 - a (z_0 + z_\alpha)))` of 9,999 resampled means, with bias
    correction :math:`z_0` from the share of means below the observed one and acceleration
    :math:`a = \sum d_i^3 / (6 (\sum d_i^2)^{3/2})`, :math:`d_i = x_i - \bar x` (Efron 1987).

    >>> [(low, high)] = bootstrap_intervals([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]])
    >>> round(low, 2), round(high, 2)
    (0.29, 0.61)
    """
    rows = np.asarray(samples, dtype=np.float64)
    resampled = rows @ _resampling_weights(rows.shape[1])
    return [_bca(row, means, level) for row, means in zip(rows, resampled, strict=True)]


def _bca(x: FloatArray, means: FloatArray, level: float) -> tuple[float, float]:
    mean = float(x.mean())
    if _sd(x) == 0.0:
        return (mean, mean)
    deviations = x - mean
    # A resample may hit the observed mean exactly, but for rounding; such ties count half.
    below = np.count_nonzero(means < mean - NO_SPREAD)
    upto = np.count_nonzero(means <= mean + NO_SPREAD)
    z0 = ndtri((below + upto) / (2 * len(means)))
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    z = z0 + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    low, high = np.quantile(means, ndtr(z0 + z / (1 - acceleration * z)))
    return (float(low), float(high))


@lru_cache(maxsize=8)
def _resampling_weights(n: int) -> FloatArray:
    """How often each of ``n`` values is drawn, as a share, in each resample: one matrix product gives all means."""
    rng = np.random.default_rng((BOOTSTRAP_SEED, n))
    drawn = rng.integers(0, n, size=(RESAMPLES, n)) * RESAMPLES + np.arange(RESAMPLES)[:, None]
    return np.bincount(drawn.ravel(), minlength=RESAMPLES * n).reshape(n, RESAMPLES) / n


@dataclass(frozen=True)
class PairedTest:
    """A paired t test over seeds with its effect size; members are None where undefined and ``note`` says why."""

    n: int
    statistic: float | None = None
    p: float | None = None
    p_holm: float | None = None
    d_z: float | None = None
    note: str | None = None
    test: str = "paired t"

    def to_dict(self) -> dict[str, Any]:
        members = ("test", "statistic", "p", "p_holm", "d_z", "n", "note")
        return {name: getattr(self, name) for name in members}


def paired_t_test(differences: Sequence[float | None]) -> PairedTest:
    r"""Two-sided t test that the mean of paired differences is 0, with the effect size :math:`d_z`.

    .. math:: t = \bar d \sqrt n / s_d, \quad d_z = \bar d / s_d

    Without spread there is no t: if all differences are 0 the data hold no evidence (p = 1); if they are equal but not
    0 the test is undefined, however sure it may look.

    >>> test = paired_t_test([0.1, 0.2, 0.3])
    >>> round(test.statistic, 3), round(test.p, 4), round(test.d_z, 3)
    (3.464, 0.0742, 2.0)
    >>> paired_t_test([0.5, 0.5]).p is None
    True
    """
    d = _defined(differences)
    n = len(d)
    if n < 2:
        return PairedTest(n, note=f"n = {n}: no test")
    mean, sd = float(d.mean()), _sd(d)
    if sd == 0.0:
        if abs(mean) <= NO_SPREAD:
            return PairedTest(n, p=1.0, note="all differences are 0")
        return PairedTest(n, note="all differences are equal: no t test")
    t = mean * math.sqrt(n) / sd
    return PairedTest(n, t, 2 * float(stdtr(n - 1, -abs(t))), None, mean / sd)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    r"""Holm's step-down correction; undefined tests (None) are no part of the family.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    ranked = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - rank) * p))
        adjusted[i] = highest
    return adjusted


@dataclass(frozen=True)
class McNemar:
    """Images that only the first (``only_first``) or only the second (``only_second``) condition got right."""

    only_first: int
    only_second: int
    n: int
    p: float


def mcnemar_exact(first: npt.ArrayLike, second: npt.ArrayLike) -> McNemar:
    r"""Exact McNemar test on the same images under two conditions, e.g. patched and masked.

    With b and c images right under one condition only: :math:`p = \min(1, 2\, P(X \le \min(b, c)))`,
    :math:`X \sim Binomial(b + c, 1/2)`. No image that differs: p = 1.

    >>> result = mcnemar_exact([True] * 8 + [False, True], [False] * 8 + [True, True])
    >>> result.only_first, result.only_second, round(result.p, 4)
    (8, 1, 0.0391)
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two lists of the same images are needed, not shapes {a.shape} and {b.shape}")
    only_first, only_second = int((a & ~b).sum()), int((~a & b).sum())
    differing = only_first + only_second
    p = 1.0 if differing == 0 else min(1.0, 2 * float(bdtr(min(only_first, only_second), differing, 0.5)))
    return McNemar(only_first, only_second, len(a), p)
