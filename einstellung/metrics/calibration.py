"""Calibration of predicted probabilities: expected calibration error, Brier score, the bins of a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BINS = 15
Binning = Literal["width", "mass"]


@dataclass(frozen=True)
class Bin:
    """Images of similar confidence: how many, their mean confidence and their accuracy."""

    n: int
    confidence: float
    accuracy: float


def softmax(logits: npt.ArrayLike) -> FloatArray:
    """Probabilities from logits [images, classes].

    >>> softmax([[0.0, 0.0]]).tolist()
    [[0.5, 0.5]]
    """
    z = np.asarray(logits, dtype=np.float64)
    exponentials = np.exp(z - z.max(axis=1, keepdims=True))
    probabilities: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def reliability(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, binning: Binning = "width", bins: int = BINS
) -> list[Bin]:
    """The non-empty bins, by rising confidence.

    ``width``: bins of equal width over (0, 1], closed on the right (Guo et al. 2017). ``mass``: bins of equally many images by
    rank, their sizes differing by at most one (Nguyen and O'Connor 2015).

    >>> reliability([0.9, 0.9, 0.6], [True, False, True], bins=2)
    [Bin(n=3, confidence=0.7999999999999999, accuracy=0.6666666666666666)]
    """
    c, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
    if c.shape != right.shape or c.ndim != 1:
        raise ValueError(f"expected one confidence and one outcome per image, got shapes {c.shape} and {right.shape}")
    order = np.argsort(c, kind="stable")
    if binning == "mass":
        groups = np.array_split(order, bins)
    else:
        # edges k / bins as floats, so that a confidence on an edge belongs to the bin below it
        number = np.searchsorted(np.arange(1, bins) / bins, c[order], side="left")
        groups = [order[number == k] for k in range(bins)]
    return [Bin(len(rows), float(c[rows].mean()), float(right[rows].mean())) for rows in groups if len(rows)]


def expected_calibration_error(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, binning: Binning = "width", bins: int = BINS
) -> float | None:
    r"""ECE (Naeini et al. 2015, Guo et al. 2017): the mean gap between confidence and accuracy over bins of images.

    .. math:: ECE = \sum_b \frac{n_b}{n} \left| acc_b - conf_b \right|

    None without images. Estimated from few images it is above 0 for a calibrated model too.

    >>> expected_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    >>> expected_calibration_error([1.0, 1.0], [True, False])
    0.5
    """
    groups = reliability(confidence, correct, binning, bins)
    total = sum(group.n for group in groups)
    return sum(group.n / total * abs(group.accuracy - group.confidence) for group in groups) if total else None


def brier_scores(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> FloatArray:
    r"""The Brier score of every image (Brier 1950), 0 at best and 2 at worst; a strictly proper score.

    .. math:: B_i = \sum_c (p_{ic} - [y_i = c])^2

    >>> brier_scores([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0, 0, 0]).tolist()
    [0.0, 0.5, 2.0]
    """
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    errors = p.copy()
    errors[np.arange(len(y)), y] -= 1.0
    scores: FloatArray = (errors**2).sum(axis=1)
    return scores
