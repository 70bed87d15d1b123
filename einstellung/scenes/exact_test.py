"""Whether two shares differ by more than chance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt


def chance_of_difference(total: int, hits: int, other_total: int, other_hits: int) -> float:
    """Two-sided p-value of Fisher's exact test: twice the smaller tail of the hypergeometric law, at most 1.

    >>> round(chance_of_difference(10, 5, 10, 0), 4)
    0.0325
    """
    both, marked = total + other_total, hits + other_hits
    logs = _log_factorials(both)
    possible = np.arange(max(0, marked - other_total), min(total, marked) + 1)
    chances = np.exp(
        (logs[marked] - logs[possible] - logs[marked - possible])
        + (logs[both - marked] - logs[total - possible] - logs[other_total - marked + possible])
        - (logs[both] - logs[total] - logs[other_total])
    )
    more, fewer = chances[possible >= hits].sum(), chances[possible <= hits].sum()
    return min(1.0, 2 * float(min(more, fewer)))


@lru_cache(maxsize=8)
def _log_factorials(largest: int) -> npt.NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])
