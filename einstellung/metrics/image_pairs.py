"""Predictions image by image: the same images under two conditions, matched by their identity, never by position.

A run's predictions are a table with the columns ``split``, ``index`` (the image's identity in its data set), ``label`` and
``prediction``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline import Run

PREDICTION_COLUMNS = ("split", "index", "label", "prediction")

IntArray = npt.NDArray[np.int64]
Predictions = Mapping[Run, pd.DataFrame]


@dataclass(frozen=True)
class ImagePairs:
    """What a model said about the same images under two conditions, with their labels."""

    label: IntArray
    first: IntArray
    second: IntArray


def of_split(frame: pd.DataFrame, split: str) -> pd.DataFrame | None:
    """The rows of one split by the images' identities; None where the split was not stored."""
    rows = frame[frame["split"] == split]
    return rows.set_index("index") if len(rows) else None


def paired(frame: pd.DataFrame, first: str, second: str) -> ImagePairs | None:
    """Two splits that hold the same images, joined by identity; None where one of them was not stored.

    Other images, an image twice, or an image with two labels are an :class:`~einstellung.errors.InputError`: there is no
    pair to test.

    >>> rows = [("a", 7, 0, 0), ("a", 9, 1, 0), ("b", 9, 1, 1), ("b", 7, 0, 0)]
    >>> pairs = paired(pd.DataFrame(rows, columns=PREDICTION_COLUMNS), "a", "b")
    >>> pairs.label.tolist(), pairs.first.tolist(), pairs.second.tolist()
    ([0, 1], [0, 0], [0, 1])
    """
    one, other = of_split(frame, first), of_split(frame, second)
    if one is None or other is None:
        return None
    for split, rows in ((first, one), (second, other)):
        if not rows.index.is_unique:
            raise InputError(f"{split} contains image {rows.index[rows.index.duplicated()][0]} twice")
    if len(one) != len(other) or not one.index.isin(other.index).all():
        alone = one.index.symmetric_difference(other.index)
        raise InputError(
            f"{first} and {second} do not contain the same images ({len(one)} and {len(other)}, "
            f"{len(alone)} in only one of them, e.g. image {alone[0]})"
        )
    other = other.loc[one.index]
    differing = one["label"].to_numpy() != other["label"].to_numpy()
    if differing.any():
        raise InputError(f"image {one.index[differing][0]} has one label in {first} and another in {second}")
    columns = (one["label"], one["prediction"], other["prediction"])
    return ImagePairs(*(column.to_numpy(dtype=np.int64) for column in columns))


def matching(frame: pd.DataFrame, first: str, second: str) -> ImagePairs | None:
    """As :func:`paired`, but None where the two do not match either."""
    try:
        return paired(frame, first, second)
    except InputError:
        return None
