"""Flips: images that a model got right before a change and wrong after it, and the other way round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Flips:
    """Shares of ``n`` images: right before and wrong after (``negative``), wrong before and right after (``positive``)."""

    n: int
    negative: float
    positive: float


def flips(before: npt.ArrayLike, after: npt.ArrayLike) -> Flips:
    r"""Negative and positive flip rates (Yan et al. 2021) of the same images, True where they are classified correctly.

    .. math:: NFR = \frac1n \sum_i [r_i = 1 \wedge r'_i = 0], \quad PFR = \frac1n \sum_i [r_i = 0 \wedge r'_i = 1]

    NFR - PFR is the accuracy lost by the change; how many images change hands for it is what accuracy does not show.

    >>> flips([True, True, False, False], [True, False, True, False])
    Flips(n=4, negative=0.25, positive=0.25)
    """
    r, s = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    if r.shape != s.shape or r.ndim != 1 or not len(r):
        raise ValueError(f"expected two lists over the same images, got shapes {r.shape} and {s.shape}")
    return Flips(len(r), float((r & ~s).mean()), float((~r & s).mean()))
