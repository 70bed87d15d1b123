"""Groups of composites: in which of them each cue is common, and how many images each group gets.

A pattern has a digit for every cue: 1 where it is common (its value is the label's), 0 where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from einstellung.errors import InputError

CUES = ("background", "co-object", "watermark")

Pattern = tuple[int, ...]


def patterns(cues: int) -> list[Pattern]:
    """All patterns, from 'everything common' to 'nothing'.

    >>> ["".join(map(str, pattern)) for pattern in patterns(2)]
    ['11', '10', '01', '00']
    """
    return list(product((1, 0), repeat=cues))


def group_shares(correlations: Sequence[float]) -> dict[Pattern, float]:
    """The share of each pattern in a class: cues are independent of each other, given the label."""
    shares = {}
    for pattern in patterns(len(correlations)):
        share = 1.0
        for common, rho in zip(pattern, correlations, strict=True):
            share *= rho if common else 1 - rho
        shares[pattern] = share
    return shares


def group_counts(count: int, correlations: Sequence[float]) -> dict[Pattern, int]:
    """``count`` images of a class dealt out to the patterns: rounded, all of them used, and no pattern that may occur left out.

    What rounding leaves over goes to the largest remainders, and among equal ones to the larger pattern.

    >>> list(group_counts(630, (0.95, 0.95)).values())
    [569, 30, 30, 1]
    >>> list(group_counts(132, (0.5, 0.5)).values())
    [33, 33, 33, 33]
    """
    shares = group_shares(correlations)
    possible = [pattern for pattern, share in shares.items() if share > 0]
    if count < len(possible):
        raise InputError(f"{count} images of a class cannot make up {len(possible)} groups: give more images")
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
    """Whether patterns with equal shares get equal numbers of a class's images, so that a correlation of .5 is exactly that.

    >>> is_even(315, (0.95, 0.5)), is_even(314, (0.95, 0.5))
    (False, True)
    """
    shares, counts = group_shares(correlations), group_counts(count, correlations)
    alike: dict[float, set[int]] = {}
    for pattern, share in shares.items():
        alike.setdefault(round(share, 9), set()).add(counts[pattern])
    return all(len(different) == 1 for different in alike.values())


def check_correlations(phases: Sequence[Sequence[float]]) -> int:
    """How many cues there are, if the phases agree about it."""
    if not phases:
        raise InputError("phases is empty: give the correlations of at least one, such as [[0.95, 0.95]]")
    lengths = {len(phase) for phase in phases}
    if len(lengths) > 1 or not lengths <= {2, 3}:
        raise InputError(
            f"phases have {' or '.join(map(str, sorted(lengths)))} correlations: give every one two of them (background, "
            "co-object), or every one three (and watermark)"
        )
    for rho in (rho for phase in phases for rho in phase):
        if not 0 <= rho <= 1:
            raise InputError(f"a correlation is {rho}: it is the share of images in which a cue is common, 0 to 1")
    return lengths.pop()


def words(counts: Mapping[Pattern, int]) -> dict[str, int]:
    """The same with patterns as texts."""
    return {"".join(map(str, pattern)): count for pattern, count in counts.items()}
