"""Ratios of gaps, and of two means over the same seeds with an interval that knows that both are uncertain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

SMALLEST_GAP = 0.01  # how far below 0 a gap must be for a share of it to mean anything
FIELLER = "Fieller"
UNBOUNDED = "none: the denominator's interval holds 0"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Ratio:
    """A ratio of means; None where undefined, and ``interval`` says how the interval was found or why there is none."""

    value: float | None
    n: int
    ci95: tuple[float, float] | None
    interval: str

    def to_dict(self) -> dict[str, Any]:
        ci95 = list(self.ci95) if self.ci95 is not None else None
        return {"value": self.value, "n": self.n, "ci95": ci95, "interval": self.interval}


def ratio_of_means(
    numerators: Sequence[float | None], denominators: Sequence[float | None], below: float | None = None
) -> Ratio:
    r"""The mean of one over the mean of the other, paired by place, with Fieller's 95 % interval (1954).

    The interval holds every :math:`\theta` that a paired t test of :math:`\bar y - \theta \bar x = 0` does not refuse:

    .. math:: (\bar y - \theta \bar x)^2 \le t^2_{0.975,\,n-1}\, (s_{yy} - 2\theta s_{xy} + \theta^2 s_{xx}) / n

    It is bounded only if that test refuses :math:`\bar x = 0`. Undefined where the mean denominator is 0 or, with ``below``
    (a number up to 0), not below that: gaps are losses, and a share of what is no loss says nothing.

    >>> ratio = ratio_of_means([-0.30, -0.28, -0.32], [-0.15, -0.15, -0.15])
    >>> round(ratio.value, 3), [round(bound, 3) for bound in ratio.ci95]
    (2.0, [1.669, 2.331])
    >>> ratio_of_means([-0.3], [-0.15]).interval
    'n = 1: no interval'
    >>> ratio_of_means([-0.3], [0.2], below=-0.01).interval
    'none: the denominator is above 0'
    """
    pairs = [(y, x) for y, x in zip(numerators, denominators, strict=True) if y is not None and x is not None]
    if not pairs:
        return Ratio(None, 0, None, "none")
    y, x = np.array(pairs, dtype=np.float64).T
    n, mean_y, mean_x = len(pairs), float(y.mean()), float(x.mean())
    if abs(mean_x) <= abs(below or 0.0) + _ROUNDING:
        return Ratio(None, n, None, f"none: the denominator is within {abs(below or 0.0):g} of 0")
    if below is not None and mean_x > 0:
        return Ratio(None, n, None, "none: the denominator is above 0")
    value = mean_y / mean_x
    if n == 1:
        return Ratio(value, 1, None, "n = 1: no interval")
    (s_yy, s_xy), (_, s_xx) = np.cov(y, x).tolist()
    reach = float(stdtrit(n - 1, 0.975)) ** 2 / n
    a = mean_x**2 - reach * s_xx
    half_b = mean_x * mean_y - reach * s_xy
    c = mean_y**2 - reach * s_yy
    if a <= 0:
        return Ratio(value, n, None, UNBOUNDED)
    root = math.sqrt(max(half_b**2 - a * c, 0.0))
    return Ratio(value, n, ((half_b - root) / a, (half_b + root) / a), FIELLER)


def amplification(gap: float | None, of_baseline: float | None) -> float | None:
    r"""How many times larger a gap is than the baseline's: :math:`gap / gap_{ERM}`.

    None unless the baseline's gap is below -0.01: where it relies on nothing, there is nothing to multiply.

    >>> round(amplification(-0.45, -0.153), 2), amplification(-0.1, -0.01), amplification(-0.1, 0.2)
    (2.94, None, None)
    """
    if gap is None or of_baseline is None or of_baseline >= -SMALLEST_GAP - _ROUNDING:
        return None
    return gap / of_baseline
