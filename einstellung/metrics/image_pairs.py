"""Predictions image by image: the same images under two conditions, matched by their identity, never by position.

A run's predictions are a table with the columns ``split``, ``index`` (the image's identity in its data set), ``label`` and
``prediction``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.checks import Check
from einstellung.errors import InputError
from einstellung.metrics.log_checks import Run
from einstellung.metrics.statistics import holm, mcnemar_exact
from einstellung.timeline import NSC, NSC_PATCHED, SC_CLEAN, SC_ELSEWHERE, SC_MASK, SC_PATCH

PREDICTION_COLUMNS = ("split", "index", "label", "prediction")
SAME_IMAGES = ((SC_PATCH, SC_MASK), (SC_PATCH, SC_ELSEWHERE), (SC_PATCH, SC_CLEAN), (NSC, NSC_PATCHED))

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
            raise InputError(f"{split} holds image {rows.index[rows.index.duplicated()][0]} twice")
    if len(one) != len(other) or not one.index.isin(other.index).all():
        alone = one.index.symmetric_difference(other.index)
        raise InputError(
            f"{first} and {second} do not hold the same images ({len(one)} and {len(other)}, "
            f"{len(alone)} of them in one only, e.g. image {alone[0]})"
        )
    other = other.loc[one.index]
    differing = one["label"].to_numpy() != other["label"].to_numpy()
    if differing.any():
        raise InputError(f"image {one.index[differing][0]} has one label in {first} and another in {second}")
    columns = (one["label"], one["prediction"], other["prediction"])
    return ImagePairs(*(column.to_numpy(dtype=np.int64) for column in columns))


def matching(frame: pd.DataFrame, first: str, second: str) -> ImagePairs | None:
    """As :func:`paired`, but None where the two do not match either; :func:`same_images` says of which runs that is so."""
    try:
        return paired(frame, first, second)
    except InputError:
        return None


def same_images(predictions: Predictions) -> Check:
    """Splits that show the same images under two conditions do so in every run; those that do not are named."""
    name = "paired predictions are of the same images"
    problems, compared = [], 0
    for (method, seed), frame in predictions.items():
        for first, second in SAME_IMAGES:
            try:
                compared += paired(frame, first, second) is not None
            except InputError as error:
                problems.append(f"{method} seed {seed}: {error}")
    if problems:
        more = f" | and {len(problems) - 6} more" if len(problems) > 6 else ""
        return Check(name, False, " | ".join(problems[:6]) + more + "; what needs these pairs is left out")
    if not compared:
        return Check(name, None, "no run has stored two splits of the same images")
    return Check(
        name, True, f"{compared} pairs of splits in {len(predictions)} runs, matched by the images' identities"
    )


@dataclass(frozen=True)
class Masking:
    """How many images a run got right with the cue, with it covered, with both, with neither; and McNemar's test."""

    n: int
    both_right: int
    only_patched: int
    only_masked: int
    both_wrong: int
    p: float
    p_holm: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def masking(pairs: ImagePairs) -> Masking:
    r"""Patched (first) against masked (second), image by image, by the exact McNemar test.

    With b and c images that are right under one condition only: :math:`p = \min(1, 2\, P(X \le \min(b, c)))`,
    :math:`X \sim Binomial(b + c, 1/2)`.

    >>> masking(ImagePairs(np.zeros(6, int), np.array([0, 0, 0, 0, 0, 1]), np.array([0, 1, 1, 1, 1, 1])))
    Masking(n=6, both_right=1, only_patched=4, only_masked=0, both_wrong=1, p=0.125, p_holm=None)
    """
    patched, masked = pairs.first == pairs.label, pairs.second == pairs.label
    test = mcnemar_exact(patched, masked)
    both, neither = int((patched & masked).sum()), int((~patched & ~masked).sum())
    return Masking(test.n, both, test.only_first, test.only_second, neither, test.p)


def masking_of_runs(predictions: Predictions) -> dict[Run, Masking]:
    """:func:`masking` of every run that stored both splits, corrected by Holm over all of them."""
    found = {
        run: masking(pairs)
        for run, frame in predictions.items()
        if (pairs := matching(frame, SC_PATCH, SC_MASK)) is not None
    }
    corrected = holm([counts.p for counts in found.values()])
    return {run: replace(counts, p_holm=p) for (run, counts), p in zip(found.items(), corrected, strict=True)}
