"""Groups of composites by cue pattern, and how many images each group gets.

A pattern has one digit per cue: 1 if the cue is common (its value equals the label), else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from einstellung.errors import InputError

CUES = ("background", "co-object", "watermark")

CuePattern = tuple[int, ...]


def patterns(cues: int) -> list[CuePattern]:
    """All patterns, from all cues common to none.

    >>> ["".join(map(str, pattern)) for pattern in patterns(2)]
    ['11', '10', '01', '00']
    """
    return list(product((1, 0), repeat=cues))


def group_shares(correlations: Sequence[float]) -> dict[CuePattern, float]:
    """The share of each pattern in a class; cues are independent given the label."""
    shares = {}
    for pattern in patterns(len(correlations)):
        share = 1.0
        for common, rho in zip(pattern, correlations, strict=True):
            share *= rho if common else 1 - rho
        shares[pattern] = share
    return shares


def group_counts(count: int, correlations: Sequence[float]) -> dict[CuePattern, int]:
    """Distribute ``count`` images of a class over the patterns by largest remainder; every possible pattern gets at least one.

    Ties go to the more frequent pattern.

    >>> list(group_counts(630, (0.95, 0.95)).values())
    [569, 30, 30, 1]
    >>> list(group_counts(132, (0.5, 0.5)).values())
    [33, 33, 33, 33]
    """
    shares = group_shares(correlations)
    possible = [pattern for pattern, share in shares.items() if share > 0]
    if count < len(possible):
        raise InputError(f"{count} images per class are too few for {len(possible)} groups: give more images")
    exact = {pattern: round(share * count, 9) for pattern, share in shares.items()}
    counts = {pattern: int(value) for pattern, value in exact.items()}
    by_remainder = sorted(possible, key=lambda one: (-round(exact[one] - counts[one], 6), -exact[one]))
    for pattern in by_remainder[: count - sum(counts.values())]:
        counts[pattern] += 1
    for pattern in possible:
        if not counts[pattern]:
            counts[max(counts, key=lambda one: counts[one])] -= 1
            counts[pattern] = 1
    return counts


def is_even(count: int, correlations: Sequence[float]) -> bool:
    """Whether patterns with equal shares get equal numbers of images, so that a correlation of .5 is exact.

    >>> is_even(315, (0.95, 0.5)), is_even(314, (0.95, 0.5))
    (False, True)
    """
    shares, counts = group_shares(correlations), group_counts(count, correlations)
    alike: dict[float, set[int]] = {}
    for pattern, share in shares.items():
        alike.setdefault(round(share, 9), set()).add(counts[pattern])
    return all(len(different) == 1 for different in alike.values())


def check_correlations(phases: Sequence[Sequence[float]]) -> int:
    """The number of cues, which all phases must agree on."""
    if not phases:
        raise InputError("phases is empty: give at least one pair of correlations, such as [[0.95, 0.95]]")
    lengths = {len(phase) for phase in phases}
    if len(lengths) > 1 or not lengths <= {2, 3}:
        raise InputError(
            f"phases have {' or '.join(map(str, sorted(lengths)))} correlations: give all two (background, co-object) or "
            "all three (and watermark)"
        )
    for rho in (rho for phase in phases for rho in phase):
        if not 0 <= rho <= 1:
            raise InputError(f"a correlation is {rho}: give a share from 0 to 1")
    return lengths.pop()
