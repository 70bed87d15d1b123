"""Predictions of single images, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from einstellung.metrics.image_pairs import PREDICTION_COLUMNS, RunPredictions, by_split

Rows = list[tuple[str, int, int, int]]


def split(name: str, said: Sequence[int], labels: Sequence[int] | int = 0, first: int = 100) -> Rows:
    """One split: what was said about images first, first + 1, ...; one label for all, or one for each."""
    own = [labels] * len(said) if isinstance(labels, int) else labels
    return [(name, first + place, label, word) for place, (label, word) in enumerate(zip(own, said, strict=True))]


def predictions(*splits: Rows) -> RunPredictions:
    return by_split(table(*splits))


def table(*splits: Rows) -> pd.DataFrame:
    return pd.DataFrame([row for rows in splits for row in rows], columns=list(PREDICTION_COLUMNS))


def marked(both: int, first: int, second: int, neither: int) -> tuple[list[int], list[int]]:
    """Answers to images of class 0 under two conditions: right in both, in the first only, in the second only, in none."""
    return [0] * (both + first) + [1] * (second + neither), [0] * both + [1] * first + [0] * second + [1] * neither
