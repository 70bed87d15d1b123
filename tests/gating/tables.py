"""Small tables of predictions with known outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


def predictions(outcomes: Mapping[str, Sequence[int]], **columns: object) -> pd.DataFrame:
    """Of every condition 1 where an example is classified correctly; labels alternate between cat and dog."""
    parts = []
    for condition, right in outcomes.items():
        label = ["cat" if place % 2 else "dog" for place in range(len(right))]
        wrong = {"cat": "dog", "dog": "cat"}
        said = [name if ok else wrong[name] for name, ok in zip(label, right, strict=True)]
        names = [f"x{place}" for place in range(len(right))]
        parts.append(pd.DataFrame({"id": names, "label": label, "prediction": said, "condition": condition}))
    return pd.concat(parts, ignore_index=True).assign(**columns)


def drawn(n: int, cue: float, covered: float, seed: int = 0, shared: int = 99) -> pd.DataFrame:
    """Exactly so large shares of right answers, on examples that are hard in the same order for every model."""
    order = np.random.default_rng(shared).permutation(n)
    jitter = np.random.default_rng(seed).normal(0, 0.02 * n, n)
    ranks = np.argsort(np.argsort(order + jitter))
    return predictions({"cue": (ranks < cue * n).astype(int), "covered": (ranks < covered * n).astype(int)})
