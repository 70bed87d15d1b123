"""Learning curves: smoothing, time to a threshold, and the checkpoint that counts as final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from einstellung.timeline import SC_MASK, SC_PATCH, VAL, Curve

FloatArray = npt.NDArray[np.float64]
Smoothing = Literal["trailing", "centred", "none"]

TOLERANCE = 1e-9  # accuracies are k / n and thresholds are decimals: exact ties occur and plain floats get them wrong
SAME_ACCURACY = 1e-12


def smooth(epochs: npt.ArrayLike, acc: npt.ArrayLike, window: int = 3, smoothing: Smoothing = "trailing") -> FloatArray:
    r"""Moving average over time, in effective epochs rather than points.

    .. math:: \bar A(e) = \mathrm{mean}\{A(p) : e - w < p \le e,\; p > 0\}

    ``centred`` uses :math:`e - w/2 < p \le e + w/2`. The window is shorter at the ends. The model before its first step
    (e = 0) neither enters a window nor has a smoothed value (NaN). A window of 1 leaves the curve as it is. ``epochs``
    must rise.

    >>> smooth([0, 1, 2, 3, 4], [0.9, 0.1, 0.2, 0.6, 0.7]).round(3).tolist()
    [nan, 0.1, 0.15, 0.3, 0.5]
    >>> smooth([1, 2, 3], [0.1, 0.2, 0.6], smoothing="centred").round(3).tolist()
    [0.15, 0.3, 0.4]
    """
    e = np.asarray(epochs, dtype=np.float64)
    a = np.asarray(acc, dtype=np.float64)
    trained = e > TOLERANCE
    if smoothing == "none" or window <= 1:
        return np.where(trained, a, np.nan)
    ahead = 0.0 if smoothing == "trailing" else window / 2
    low = np.searchsorted(e, np.maximum(e + ahead - window, 0.0) + TOLERANCE, side="right")
    high = np.searchsorted(e, e + ahead + TOLERANCE, side="right")
    sums = np.concatenate(([0.0], np.cumsum(a)))
    counts = np.where(trained, high - low, 1)
    return np.where(trained, (sums[high] - sums[low]) / counts, np.nan)


def times_to_thresholds(epochs: npt.ArrayLike, smoothed: npt.ArrayLike, taus: Sequence[float]) -> list[float | None]:
    r"""First epoch at which an already smoothed curve is at or above each threshold; None where it never is.

    .. math:: E(\tau) = \min\{e : \bar A(e) \ge \tau\}

    Compared with a tolerance of 1e-9.

    >>> times_to_thresholds([1, 2, 3], [0.2, 0.5, 0.7], [0.3, 0.5, 0.9])
    [2.0, 2.0, None]
    """
    e = np.asarray(epochs, dtype=np.float64)
    if len(e) == 0:
        return [None for _ in taus]
    reached = np.asarray(smoothed)[None, :] >= np.asarray(taus, dtype=np.float64)[:, None] - TOLERANCE
    first = reached.argmax(axis=1)
    return [float(e[i]) if reached[t, i] else None for t, i in enumerate(first)]


def time_to_threshold(
    epochs: npt.ArrayLike,
    acc: npt.ArrayLike,
    tau: float = 0.6,
    window: int = 3,
    smoothing: Smoothing = "trailing",
) -> float | None:
    r"""Effective epochs until the smoothed curve first reaches ``tau``; None if it never does (right-censored).

    .. math:: E(\tau) = \min\{e > 0 : \bar A(e) \ge \tau\}

    >>> time_to_threshold([0, 1, 2, 3, 4], [0.9, 0.5, 0.6, 0.7, 0.8])
    3.0
    >>> time_to_threshold([1, 2], [0.1, 0.2]) is None
    True
    """
    return times_to_thresholds(epochs, smooth(epochs, acc, window, smoothing), [tau])[0]


def value_at(epochs: FloatArray, values: FloatArray, epoch: float | None) -> float | None:
    """The value measured at ``epoch``; None where nothing was.

    >>> value_at(np.array([1.0, 2.0]), np.array([0.5, 0.6]), 2.0)
    0.6
    >>> value_at(np.array([1.0, 2.0]), np.array([0.5, 0.6]), 1.5) is None
    True
    """
    if epoch is None:
        return None
    i = int(np.searchsorted(epochs, epoch - TOLERANCE))
    if i == len(epochs) or epochs[i] > epoch + TOLERANCE or np.isnan(values[i]):
        return None
    return float(values[i])


def last_value(epochs: FloatArray, values: FloatArray, after: float = -1.0) -> float | None:
    """The last value measured later than ``after``; None where there is none.

    >>> last_value(np.array([0.0, 1.0]), np.array([0.5, np.nan]))
    0.5
    """
    measured = np.flatnonzero((epochs > after + TOLERANCE) & ~np.isnan(values))
    return float(values[measured[-1]]) if len(measured) else None


def checkpoint_epoch(curves: Mapping[str, Curve], rule: Literal["last", "best-val"]) -> float | None:
    r"""The epoch whose model counts as the final one.

    ``best-val``: :math:`\min \arg\max_{e > 0} A_{val}(e)`, the first of equals (within 1e-12); ``last``: the last one.
    Only epochs count at which the patched and the masked split were measured; a split that the run lacks altogether
    asks for nothing, so that what needs the other one can still be computed. e = 0 is never chosen.

    >>> same = np.array([1.0, 2.0, 3.0])
    >>> curve = lambda *acc: Curve(same, np.array(acc), np.full(3, 500.0))
    >>> run = {SC_PATCH: curve(0.5, 0.7, 0.8), SC_MASK: curve(0.4, 0.4, 0.4), VAL: curve(0.6, 0.9, 0.9)}
    >>> checkpoint_epoch(run, "best-val"), checkpoint_epoch(run, "last")
    (2.0, 3.0)
    """
    needed = [curves[split].epochs for split in (SC_PATCH, SC_MASK) if split in curves]
    if rule == "best-val":
        if VAL not in curves:
            return None
        needed.insert(0, curves[VAL].epochs)
    elif not needed:
        needed = [np.unique(np.concatenate([curve.epochs for curve in curves.values()]))] if curves else []
    shared = shared_epochs(needed)
    shared = shared[shared > TOLERANCE]
    if len(shared) == 0:
        return None
    if rule == "last":
        return float(shared[-1])
    validation = curves[VAL]
    acc = validation.acc[np.searchsorted(validation.epochs, shared)]
    return float(shared[np.argmax(acc >= acc.max() - SAME_ACCURACY)])


def unwatched_epochs(curves: Mapping[str, Curve]) -> FloatArray:
    """Epochs at which validation was measured but the patched split was not: with such gaps it has an end, but no curve.

    >>> at = lambda *epochs: Curve(np.array(epochs), np.full(len(epochs), 0.5), np.full(len(epochs), 500.0))
    >>> unwatched_epochs({VAL: at(0.0, 1.0, 2.0), SC_PATCH: at(2.0)}).tolist()
    [0.0, 1.0]
    >>> unwatched_epochs({SC_PATCH: at(2.0)}).tolist()
    []
    """
    if VAL not in curves or SC_PATCH not in curves:
        return np.empty(0)
    moments = curves[VAL].epochs
    return moments[~np.isin(moments, shared_epochs([moments, curves[SC_PATCH].epochs]))]


def shared_epochs(grids: Sequence[FloatArray]) -> FloatArray:
    """The epochs of the first grid that all the others hold too, within 1e-9.

    >>> shared_epochs([np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])]).tolist()
    [2.0, 3.0]
    """
    if not grids or any(len(grid) == 0 for grid in grids):
        return np.empty(0)
    epochs = grids[0]
    held = np.ones(len(epochs), dtype=bool)
    for grid in grids[1:]:
        nearest = np.minimum(np.searchsorted(grid, epochs - TOLERANCE), len(grid) - 1)
        held &= np.abs(grid[nearest] - epochs) <= TOLERANCE
    return epochs[held]
