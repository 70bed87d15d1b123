"""Plasticity: how much of a net is still in use, and how many dimensions its features span."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TAUS = (0.0, 0.025)  # the two thresholds of Sokar et al.


def dormant_share(activity: npt.ArrayLike, tau: float) -> float:
    r"""The share of tau-dormant units of a layer (Sokar et al. 2023).

    .. math:: s_i = \frac{E_x |h_i(x)|}{\frac1H \sum_k E_x |h_k(x)|}, \qquad dormant = \frac1H \sum_i [s_i \le \tau]

    ``activity``: :math:`E_x |h_i(x)|` of every unit i of the layer; for a convolution, a unit is a channel and the expectation
    runs over positions too. A layer that is silent altogether is dormant.

    >>> dormant_share([0.0, 0.01, 1.0, 2.99], 0.0), dormant_share([0.0, 0.01, 1.0, 2.99], 0.025)
    (0.25, 0.5)
    """
    h = np.asarray(activity, dtype=np.float64)
    mean = h.mean()
    return 1.0 if mean == 0 else float((h / mean <= tau).mean())


def effective_rank(matrix: npt.ArrayLike) -> float | None:
    r"""The effective rank of a matrix (Roy and Vetterli 2007): the exponential of the entropy of its singular values.

    .. math:: erank(A) = \exp\Bigl(-\sum_k p_k \ln p_k\Bigr), \qquad p_k = \sigma_k / \sum_j \sigma_j

    Between 1 and the rank. None for a matrix of zeros.

    >>> round(effective_rank(np.eye(3)), 12), effective_rank([[2.0, 0.0], [0.0, 0.0]])
    (3.0, 1.0)
    """
    singular = np.linalg.svd(np.asarray(matrix, dtype=np.float64), compute_uv=False)
    if not singular.sum() > 0:
        return None
    p = singular / singular.sum()
    p = p[p > 0]
    return float(np.exp(-(p * np.log(p)).sum()))


def stable_rank(matrix: npt.ArrayLike) -> float | None:
    r"""The stable rank of a matrix (Rudelson and Vershynin 2007): at most its rank, and little moved by small singular values.

    .. math:: srank(A) = \|A\|_F^2 / \|A\|_2^2 = \sum_k \sigma_k^2 / \sigma_1^2

    None for a matrix of zeros.

    >>> round(stable_rank(np.diag([2.0, 2.0, 1.0])), 12)
    2.25
    """
    squares = np.linalg.svd(np.asarray(matrix, dtype=np.float64), compute_uv=False) ** 2
    return float(squares.sum() / squares[0]) if squares.sum() > 0 else None
