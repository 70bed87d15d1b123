"""Percentile bootstrap over images; all quantities share the same resamples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

RESAMPLES = 2_000
SEED = 20230620
LEVEL = 0.95
_CHUNK = 4_000_000  # numbers in memory at a time: fifty thousand images are resampled in chunks

Interval = list[float]


def intervals(
    columns: Mapping[str, npt.ArrayLike], resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Interval | None]:
    """95 % interval of the mean of each column (one value per image); deterministic.

    An image is drawn with all its values, so that differences are paired if they are given as columns of their own. A single
    image has no interval.

    >>> intervals({"right": [1, 1, 0, 1], "always": [1, 1, 1, 1]})
    {'right': [0.25, 1.0], 'always': [1.0, 1.0]}
    """
    means = resampled(columns, resamples, seed)
    if means is None:
        return dict.fromkeys(columns)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {name: [float(low[column]), float(high[column])] for column, name in enumerate(columns)}


def resampled(
    columns: Mapping[str, npt.ArrayLike], resamples: int = RESAMPLES, seed: int = SEED
) -> npt.NDArray[np.float64] | None:
    """The mean of every column in every resample [resamples, columns]; None for a single image."""
    values = np.stack([np.asarray(column, dtype=np.float64) for column in columns.values()], axis=1)
    n = len(values)
    if n < 2:
        return None
    rng = np.random.default_rng((seed, n))
    step = max(1, _CHUNK // n)
    shares = np.full(n, 1 / n)
    parts = [
        rng.multinomial(n, shares, size=min(step, resamples - start)) @ values / n
        for start in range(0, resamples, step)
    ]
    return np.concatenate(parts)


def gap_interval(
    first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """95 % interval of the difference of two shares on different images, each set resampled independently.

    The number of correct images in a resample is binomial, so no image has to be drawn.

    >>> gap_interval(np.array([True, True]), np.array([False, False]))
    [1.0, 1.0]
    """
    if min(len(first), len(second)) < 2:
        return None
    rng = np.random.default_rng((seed, len(first), len(second)))
    shares = [rng.binomial(len(side), side.mean(), resamples) / len(side) for side in (first, second)]
    low, high = np.quantile(shares[0] - shares[1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [float(low), float(high)]
