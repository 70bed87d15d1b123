"""Standard continual-learning metrics from an accuracy matrix.

``R[i, j]`` is the accuracy on task j after phase i, both counted from 0; an entry that was not measured is None or NaN
and makes what needs it undefined (None).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Matrix = Sequence[Sequence[float | None]] | FloatArray
Row = Sequence[float | None] | FloatArray


def _matrix(R: Matrix) -> FloatArray:
    matrix = np.array(R, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"expected a square matrix (phases x tasks), got shape {matrix.shape}")
    return matrix


def _mean(values: FloatArray) -> float | None:
    return None if len(values) == 0 or np.isnan(values).any() else float(values.mean())


def average_accuracy(R: Matrix) -> float | None:
    r"""Mean accuracy over all tasks after the last phase.

    .. math:: ACC = \frac1T \sum_j R_{T,j}

    >>> average_accuracy([[0.9, 0.1], [0.6, 0.8]])
    0.7
    """
    return _mean(_matrix(R)[-1])


def backward_transfer(R: Matrix) -> float | None:
    r"""What later phases did to earlier tasks; negative = forgotten (Lopez-Paz and Ranzato 2017).

    .. math:: BWT = \frac1{T-1} \sum_{j<T} (R_{T,j} - R_{j,j})

    >>> round(backward_transfer([[0.9, 0.1], [0.6, 0.8]]), 3)
    -0.3
    """
    matrix = _matrix(R)
    return _mean((matrix[-1] - matrix.diagonal())[:-1])


def forward_transfer(R: Matrix, untrained: Row) -> float | None:
    r"""How much earlier phases help on a task before it is trained, against an untrained model's accuracy b.

    .. math:: FWT = \frac1{T-1} \sum_{j>1} (R_{j-1,j} - b_j)

    >>> round(forward_transfer([[0.9, 0.15], [0.6, 0.8]], [0.02, 0.05]), 3)
    0.1
    """
    matrix, start = _matrix(R), np.array(untrained, dtype=np.float64)
    return _mean(matrix.diagonal(1) - start[1:])


def forgetting(R: Matrix) -> float | None:
    r"""Best accuracy an earlier task ever had minus what is left of it (Chaudhry et al. 2018).

    .. math:: F = \frac1{T-1} \sum_{j<T} \left( \max_{j \le i < T} R_{i,j} - R_{T,j} \right)

    Phases before task j is trained do not count.

    >>> round(forgetting([[0.9, 0.1], [0.6, 0.8]]), 3)
    0.3
    """
    matrix = _matrix(R)
    last = len(matrix) - 1
    return _mean(np.array([matrix[j:last, j].max() - matrix[last, j] for j in range(last)]))


def intransigence(R: Matrix, reference: float | None) -> float | None:
    r"""How far the last task stays below a model trained on it alone (Chaudhry et al. 2018).

    .. math:: I = a^*_T - R_{T,T}

    >>> round(intransigence([[0.9, 0.1], [0.6, 0.8]], 0.85), 3)
    0.05
    """
    learned = float(_matrix(R)[-1, -1])
    return None if reference is None or np.isnan(learned) else reference - learned


def pooled_accuracy(accuracies: Sequence[float | None], counts: Sequence[float | None]) -> float | None:
    r"""Accuracy over several splits together, weighted by their images; equal weights where counts are unknown.

    .. math:: A = \sum_k n_k A_k / \sum_k n_k

    >>> pooled_accuracy([0.8, 0.5], [100, 200])
    0.6
    >>> pooled_accuracy([0.8, 0.5], [None, 200])
    0.65
    """
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    if not known or len(known) < len(accuracies):
        return None
    weights = [count for count in counts if count is not None and count > 0]
    if len(weights) < len(known):
        return sum(known) / len(known)
    return sum(weight * accuracy for weight, accuracy in zip(weights, known, strict=True)) / sum(weights)
