"""The difference of two groups of seeds, with an interval where there are seeds enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import stdtrit

from einstellung.metrics.statistics import mean_and_sd

PAIRED = "paired t"
WELCH = "Welch's t"


@dataclass(frozen=True)
class Difference:
    """A difference of means. ``interval`` names its 95 % interval, or says why there is none; ``n``: the seeds of each side."""

    value: float | None
    ci95: tuple[float, float] | None
    interval: str
    n: tuple[int, int]


def seed_difference(first: Mapping[int, float | None], second: Mapping[int, float | None]) -> Difference:
    r"""``second`` minus ``first``, each a value per seed; undefined ones (None) are left out.

    With two common seeds or more it is the mean of the differences by seed, over the common seeds only:

    .. math:: \bar d \pm t_{0.975,\,n-1}\, s_d / \sqrt n

    otherwise the difference of the means, with Welch's interval where each side has two seeds or more:

    .. math:: \bar y - \bar x \pm t_{0.975,\,\nu} \sqrt{v_x + v_y}, \quad v = s^2 / n, \quad
        \nu = \frac{(v_x + v_y)^2}{v_x^2 / (n_x - 1) + v_y^2 / (n_y - 1)}

    Without any spread there is no interval: equal values are no proof of certainty.

    >>> found = seed_difference({1: 0.1, 2: 0.2, 3: 0.3}, {1: 0.2, 2: 0.4, 3: 0.6, 4: 0.9})
    >>> round(found.value, 3), [round(end, 3) for end in found.ci95], found.interval, found.n
    (0.2, [-0.048, 0.448], 'paired t', (3, 3))
    >>> found = seed_difference({1: 0.1, 2: 0.2, 3: 0.3}, {7: 0.4, 8: 0.7})
    >>> round(found.value, 3), [round(end, 3) for end in found.ci95], found.interval, found.n
    (0.35, [-0.849, 1.549], "Welch's t", (3, 2))
    >>> seed_difference({1: 0.1}, {1: 0.3}).interval
    'too few seeds: no interval'
    """
    x = {seed: value for seed, value in first.items() if value is not None}
    y = {seed: value for seed, value in second.items() if value is not None}
    common = [seed for seed in x if seed in y]
    if len(common) >= 2:
        mean, sd, n = mean_and_sd([y[seed] - x[seed] for seed in common])
        assert mean is not None
        assert sd is not None
        return _with_interval(mean, sd / math.sqrt(n), n - 1, PAIRED, (n, n))
    (mean_x, sd_x, n_x), (mean_y, sd_y, n_y) = mean_and_sd(list(x.values())), mean_and_sd(list(y.values()))
    if mean_x is None or mean_y is None:
        return Difference(None, None, "undefined on one side", (n_x, n_y))
    if sd_x is None or sd_y is None:
        return Difference(mean_y - mean_x, None, "too few seeds: no interval", (n_x, n_y))
    v_x, v_y = sd_x**2 / n_x, sd_y**2 / n_y
    spread = v_x**2 / (n_x - 1) + v_y**2 / (n_y - 1)
    freedom = (v_x + v_y) ** 2 / spread if spread else 1.0
    return _with_interval(mean_y - mean_x, math.sqrt(v_x + v_y), freedom, WELCH, (n_x, n_y))


def _with_interval(value: float, error: float, freedom: float, name: str, n: tuple[int, int]) -> Difference:
    if error == 0.0:
        return Difference(value, None, "no spread over seeds: no interval", n)
    half = float(stdtrit(freedom, 0.975)) * error
    return Difference(value, (value - half, value + half), name, n)
