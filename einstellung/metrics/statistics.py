"""Uncertainty over seeds: intervals, paired tests, effect sizes, corrections for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, stdtr, stdtrit

FloatArray = npt.NDArray[np.float64]

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


def summarise(
    values: Sequence[float | None], bounds: tuple[float, float] | None = None, resolution: float = 0.0
) -> Summary:
    r"""Summarise one value per seed; undefined ones (None) are left out and ``n`` says how many count.

    .. math:: \bar x \pm t_{0.975,\,n-1}\, s / \sqrt n

    ``bounds``: the interval stays within what the quantity can be, e.g. (0, 1) for an accuracy. ``resolution``: half of the
    grid that the values are read from; the interval is never narrower than the mean ± that.

    >>> low, high = summarise([0.1, 0.2, 0.3, None]).ci95
    >>> round(low, 4), round(high, 4)
    (-0.0484, 0.4484)
    >>> summarise([0.1, 0.2, 0.3, None], bounds=(0.0, 1.0)).ci95[0]
    0.0
    >>> summarise([-3.0, -3.0, -3.0], resolution=0.5)
    Summary(mean=-3.0, sd=0.0, n=3, ci95=(-3.5, -2.5), interval='resolution')
    >>> summarise([0.1]).interval
    'n = 1: no interval'
    """
    mean, sd, n = mean_and_sd(values)
    if mean is None:
        return Summary(None, None, 0, None, "none")
    if sd is None:
        return Summary(mean, None, n, None, "n = 1: no interval")
    half = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    low, high = mean - max(half, resolution), mean + max(half, resolution)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Summary(mean, sd, n, (low, high), "t" if half >= resolution else "resolution")


def summarise_all(facets: Mapping[str, Sequence[float | None]]) -> dict[str, Summary]:
    """:func:`summarise` for many facets at once.

    >>> summarise_all({"PD": [0.1, 0.3], "AD": [None, None]})["AD"].interval
    'none'
    """
    return {name: summarise(values) for name, values in facets.items()}


def _defined(values: Sequence[float | None]) -> FloatArray:
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _sd(values: FloatArray) -> float:
    sd = float(values.std(ddof=1))
    return sd if sd > NO_SPREAD else 0.0


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


Side = Literal["above", "below"]


def p_beyond(values: Sequence[float | None], bound: float, side: Side, resolution: float = 0.0) -> float | None:
    r"""One-sided t test that the mean lies above or below a bound.

    .. math:: t = (\bar x - b) / \max(s / \sqrt n,\; r / t_{0.975,\,n-1}), \quad p = P(T_{n-1} \ge t)

    (for ``below`` with the other sign). ``resolution`` r is half of the grid that the values are read from: it keeps the
    standard error from falling below what the grid can show, in agreement with the interval of :func:`summarise`. Without any
    spread and resolution, p is 0 beyond the bound and 1 otherwise. None below two values.

    >>> round(p_beyond([0.1, 0.2, 0.3], 0.0, "above"), 4), round(p_beyond([0.1, 0.2, 0.3], 0.0, "below"), 4)
    (0.0371, 0.9629)
    >>> round(p_beyond([-3.0, -3.0, -3.0], -1.0, "below", resolution=0.5), 4)
    0.0017
    """
    mean, sd, n = mean_and_sd(values)
    return None if mean is None or sd is None else p_of_moments(mean, sd, n, bound, side, resolution)


def p_of_moments(mean: float, sd: float, n: int, bound: float, side: Side, resolution: float = 0.0) -> float:
    """:func:`p_beyond` from the mean, the standard deviation and the number of the values."""
    ahead = mean - bound if side == "above" else bound - mean
    error = max(sd / math.sqrt(n), resolution / float(stdtrit(n - 1, 0.975)) if resolution else 0.0)
    if error == 0.0:
        return 0.0 if ahead > NO_SPREAD else 1.0
    return float(stdtr(n - 1, -ahead / error))


def p_within(values: Sequence[float | None], margin: float) -> float | None:
    r"""Two one-sided t tests that the mean lies between -margin and +margin (Schuirmann 1987): the larger p of both.

    >>> round(p_within([0.001, -0.002, 0.004], 0.02), 4)
    0.0041
    """
    lower, upper = p_beyond(values, -margin, "above"), p_beyond(values, margin, "below")
    return None if lower is None or upper is None else max(lower, upper)


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
        raise ValueError(f"expected two lists over the same images, got shapes {a.shape} and {b.shape}")
    only_first, only_second = int((a & ~b).sum()), int((~a & b).sum())
    differing = only_first + only_second
    p = 1.0 if differing == 0 else min(1.0, 2 * float(bdtr(min(only_first, only_second), differing, 0.5)))
    return McNemar(only_first, only_second, len(a), p)
