"""Intervals of shares: of one, over the images it was counted on, and of the difference between two independent estimates."""

from __future__ import annotations

import math

from scipy.special import betaincinv

Interval = tuple[float, float]
Z_95 = 1.959963984540054


def wilson_interval(share: float, n: int, z: float = Z_95) -> Interval:
    r"""The 95 % score interval of a share counted on ``n`` images (Wilson 1927).

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    It stays within 0 and 1, and has a width even where all images are right.

    >>> [round(bound, 4) for bound in wilson_interval(0.9, 100)]
    [0.8256, 0.9448]
    >>> [round(bound, 4) for bound in wilson_interval(1.0, 100)]
    [0.963, 1.0]
    """
    if n < 1 or not 0 <= share <= 1:
        raise ValueError(f"expected a share from 0 to 1 and at least one image, got {share} of {n}")
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    whole = 1 + z * z / n
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def difference_interval(first: float, of_first: Interval, second: float, of_second: Interval) -> Interval:
    r"""The interval of a difference from the intervals of both estimates, which are independent (Newcombe 1998).

    .. math:: L = d - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}, \quad U = d + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}

    With Wilson intervals this is Newcombe's hybrid score interval; with t intervals it is close to Welch's.

    >>> low, high = difference_interval(56 / 70, wilson_interval(0.8, 70), 48 / 80, wilson_interval(0.6, 80))
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    difference = first - second
    low = difference - math.hypot(first - of_first[0], of_second[1] - second)
    high = difference + math.hypot(of_first[1] - first, second - of_second[0])
    return low, high


def paired_difference_interval(lost: int, won: int, n: int, z: float = Z_95) -> Interval:
    r"""The 95 % interval of a difference of paired shares, right answers lost less those won (Bonett and Price 2012).

    .. math:: \tilde p_{10} - \tilde p_{01} \pm
        z \sqrt{\frac{\tilde p_{10} + \tilde p_{01} - (\tilde p_{10} - \tilde p_{01})^2}{n + 2}}

    with :math:`\tilde p_{10} = (\text{lost} + 1) / (n + 2)` and :math:`\tilde p_{01} = (\text{won} + 1) / (n + 2)`.
    It stays within -1 and 1, and has a width even where no answer changes.

    >>> [round(bound, 4) for bound in paired_difference_interval(24, 4, 100)]
    [0.098, 0.2942]
    """
    if n < 1 or lost < 0 or won < 0 or lost + won > n:
        raise ValueError(f"{lost} lost and {won} won of {n} images")
    first, second = (lost + 1) / (n + 2), (won + 1) / (n + 2)
    half = z * math.sqrt((first + second - (first - second) ** 2) / (n + 2))
    return max(-1.0, first - second - half), min(1.0, first - second + half)


def exact_interval(share: float, n: int, level: float = 0.95) -> Interval:
    r"""The exact interval of a share counted on ``n`` examples (Clopper and Pearson 1934).

    .. math:: L = B^{-1}(\alpha / 2;\ k,\ n - k + 1), \quad U = B^{-1}(1 - \alpha / 2;\ k + 1,\ n - k), \quad k = n p

    with quantiles of the beta distribution. Its coverage is never below the level. Of a share that is a mean over several
    models on the same examples, ``n`` is the number of examples: the interval is then conservative.

    >>> [round(bound, 4) for bound in exact_interval(0.1, 100)]
    [0.049, 0.1762]
    >>> [round(bound, 4) for bound in exact_interval(0.0, 100)]
    [0.0, 0.0362]
    """
    if n < 1 or not 0 <= share <= 1:
        raise ValueError(f"a share of 0 to 1 and at least one example are needed, not {share} of {n}")
    k, tail = share * n, (1 - level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return low, high
