"""Uncertainty over images that share a source: a bootstrap that draws whole clusters of images, not single ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
RESAMPLES = 2000


def cluster_bootstrap(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    strata: npt.ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> FloatArray:
    r"""Means over images whose clusters are drawn again with replacement: [resamples, columns].

    .. math:: \bar x^* = \frac{\sum_c m_c \sum_{i \in c} x_i}{\sum_c m_c\, n_c}, \quad
              (m_c)_{c \in s} \sim Multinomial(C_s, 1 / C_s) \text{ in every stratum } s

    ``values`` [images] or [images, columns], e.g. 1 where an image is classified correctly; NaN where an image is not part of a
    column's mean. All columns see the same draws, so that the difference of two columns is a paired one. ``clusters``: a number
    per image; images with the same number are drawn together. ``strata``: a number per image; the clusters of a stratum are drawn
    among themselves, and the stratum of a cluster is that of its first image. NaN where none of a column's images was drawn.
    With every image a cluster of its own, this is the usual bootstrap.

    >>> hits = [1, 1, 1, 0, 0, 0, 1, 0]
    >>> percentile_interval(cluster_bootstrap(hits, range(8)))
    (0.125, 0.875)
    >>> percentile_interval(cluster_bootstrap(hits, [0, 0, 0, 1, 1, 1, 2, 2]))
    (0.0, 1.0)
    """
    table = np.asarray(values, dtype=np.float64)
    columns = table.reshape(len(table), -1)
    _, first, number = np.unique(np.asarray(clusters), return_index=True, return_inverse=True)
    known = ~np.isnan(columns)
    both = np.concatenate([np.where(known, columns, 0.0), known], axis=1)
    sums = np.zeros((len(first), both.shape[1]))
    np.add.at(sums, number, both)
    of_cluster = np.zeros(len(first), dtype=np.int64) if strata is None else np.asarray(strata)[first]
    generator = np.random.default_rng(seed)
    totals = np.zeros((resamples, both.shape[1]))
    for stratum in np.unique(of_cluster):  # one after the other, so that only one matrix of draws is in memory
        own = sums[of_cluster == stratum]
        totals += generator.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples) @ own
    summed, counted = np.split(totals, 2, axis=1)
    with np.errstate(invalid="ignore"):
        means: FloatArray = summed / counted
    return means[:, 0] if table.ndim == 1 else means


def percentile_interval(draws: npt.ArrayLike) -> tuple[float, float] | None:
    """The middle 95 % of the draws; undefined ones (NaN) are left out, None where all are.

    >>> percentile_interval([float(draw) for draw in range(101)])
    (2.5, 97.5)
    """
    defined = np.asarray(draws, dtype=np.float64)
    defined = defined[~np.isnan(defined)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [0.025, 0.975]).tolist()
    return low, high
