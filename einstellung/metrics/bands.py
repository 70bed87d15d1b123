"""Curves of several seeds as one: mean and standard deviation at every epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Band:
    """Mean and standard deviation (ddof 1) over ``n`` seeds at every epoch; no deviation for a single seed."""

    epochs: np.ndarray
    mean: np.ndarray
    sd: np.ndarray | None
    n: int


def band(table: pd.DataFrame) -> Band | None:
    """Mean and deviation at the epochs where the most seeds were measured; None where there is nothing to draw.

    >>> summary = band(pd.DataFrame({42: [0.1, 0.3], 43: [0.3, None]}, index=[1.0, 2.0]))
    >>> summary.epochs.tolist(), summary.mean.tolist(), summary.n
    ([1.0], [0.2], 2)
    """
    counts = table.notna().sum(axis=1)
    if table.empty or counts.max() == 0:
        return None
    kept = table[counts == counts.max()].sort_index()
    n = int(counts.max())
    sd = kept.std(axis=1, ddof=1).to_numpy() if n > 1 else None
    return Band(kept.index.to_numpy(float), kept.mean(axis=1).to_numpy(), sd, n)
