"""Counts as rows show them, with exact intervals."""

from __future__ import annotations

from scipy.stats import beta


def exact(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson 1934)."""
    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(0.975, count + 1, of - count))
    return low, high


def shown(count: int, of: int) -> str:
    """With the interval in %.

    >>> shown(3, 72)
    '3 of 72, 4.2 % (0.9 to 11.7)'
    """
    low, high = exact(count, of)
    return f"{count} of {of}, {100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
