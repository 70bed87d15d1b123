"""Arithmetic with undefined values: an undefined part (None) makes an undefined whole."""

from __future__ import annotations

from collections.abc import Sequence


def difference(minuend: float | None, subtrahend: float | None) -> float | None:
    """One minus the other; None where either is undefined.

    >>> difference(0.5, 0.25), difference(None, 0.25)
    (0.25, None)
    """
    return None if minuend is None or subtrahend is None else minuend - subtrahend


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean; None where a part is undefined.

    >>> mean_of([0.5, 1.0]), mean_of([0.5, None])
    (0.75, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
