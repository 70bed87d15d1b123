"""Predictions image by image: the same images under two conditions, matched by their identity, never by position.

A run's predictions are a table with the columns ``split``, ``index`` (the image's identity in its data set), ``label`` and
``prediction``, divided into splits once (:func:`by_split`).
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


@dataclass(frozen=True, eq=False)
class SplitPredictions:
    """The predictions for the images of one split, in the order in which they were stored."""

    index: IntArray
    label: IntArray
    prediction: IntArray


RunPredictions = Mapping[str, SplitPredictions]  # by split
Predictions = Mapping[Run, RunPredictions]


@dataclass(frozen=True)
class ImagePairs:
    """What a model predicted for the same images under two conditions, with their labels."""

    label: IntArray
    first: IntArray
    second: IntArray


def by_split(table: pd.DataFrame) -> RunPredictions:
    """The rows of every split, in their order.

    >>> rows = [("a", 7, 0, 1), ("b", 7, 0, 0), ("a", 5, 1, 1)]
    >>> by_split(pd.DataFrame(rows, columns=PREDICTION_COLUMNS))["a"].index.tolist()
    [7, 5]
    """
    numbers, names = pd.factorize(table["split"])
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(names)))[:-1]
    columns = [np.split(table[name].to_numpy(dtype=np.int64)[order], ends) for name in PREDICTION_COLUMNS[1:]]
    return {str(name): SplitPredictions(*parts) for name, *parts in zip(names, *columns, strict=True)}


def paired(run: RunPredictions, first: str, second: str) -> ImagePairs | None:
    """Two splits that hold the same images, joined by identity; None where one of them was not stored.

    Other images, an image twice, or an image with two labels are an :class:`~einstellung.errors.InputError`: there is no
    pair to test.

    >>> rows = [("a", 7, 0, 0), ("a", 9, 1, 0), ("b", 9, 1, 1), ("b", 7, 0, 0)]
    >>> pairs = paired(by_split(pd.DataFrame(rows, columns=PREDICTION_COLUMNS)), "a", "b")
    >>> pairs.label.tolist(), pairs.first.tolist(), pairs.second.tolist()
    ([0, 1], [0, 0], [0, 1])
    """
    one, other = run.get(first), run.get(second)
    if one is None or other is None:
        return None
    orders = []
    for split, rows in ((first, one), (second, other)):
        order = np.argsort(rows.index, kind="stable")
        again = np.flatnonzero(np.diff(rows.index[order]) == 0)
        if len(again):
            raise InputError(f"{split} contains image {rows.index[order[again + 1].min()]} twice")
        orders.append(order)
    own, theirs = orders
    if not np.array_equal(one.index[own], other.index[theirs]):
        alone = np.setxor1d(one.index, other.index)
        raise InputError(
            f"{first} and {second} do not contain the same images ({len(one.index)} and {len(other.index)}, "
            f"{len(alone)} in only one of them, e.g. image {alone[0]})"
        )
    match = np.empty_like(own)
    match[own] = theirs
    differing = np.flatnonzero(one.label != other.label[match])
    if len(differing):
        raise InputError(f"image {one.index[differing[0]]} has one label in {first} and another in {second}")
    return ImagePairs(one.label, one.prediction, other.prediction[match])


def matching(run: RunPredictions, first: str, second: str) -> ImagePairs | None:
    """As :func:`paired`, but None where the two do not match either."""
    try:
        return paired(run, first, second)
    except InputError:
        return None
