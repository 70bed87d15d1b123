"""Batch norm, addition and ReLU in few passes over memory, compiled by numba.

Images are rows [row, channel] of memory; where channels are few, several rows are seen as one, so that the compiler has long
vectors to work with. Sums are taken in single precision over short runs of rows, and in double precision over these.

The two entry points take addresses instead of arrays: with narrow nets, passing a dozen arrays would take longer than the
work itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from einstellung.kernels.jit import kernel

_RUN = 32  # rows that are summed in single precision
_zero = np.float32(0)


@intrinsic
def _numbers_at(typing_context: Any, address: Any) -> Any:
    """An address as a pointer to single-precision numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(address), generate


@kernel
def forward(
    addresses: Any, rows: int, width: int, channels: int, training: bool, momentum: float, eps: float, statistics: Any
) -> None:
    """y = max(0, gamma (x - mean) / sqrt(var + eps) + beta + other); mean and 1 / sqrt(var + eps) are left in ``statistics``.

    ``addresses``: x, other (0 where nothing is added), y, gamma, beta, running mean, running variance.
    """
    x, y = carray(_numbers_at(addresses[0]), (rows, width)), carray(_numbers_at(addresses[2]), (rows, width))
    gamma, beta = carray(_numbers_at(addresses[3]), channels), carray(_numbers_at(addresses[4]), channels)
    running_mean, running_var = carray(_numbers_at(addresses[5]), channels), carray(_numbers_at(addresses[6]), channels)
    if training:
        _measure(x, channels, statistics)
        count = rows * (width // channels)
        for c in range(channels):
            mean, var = statistics[0, c], statistics[1, c]
            running_mean[c] += momentum * (mean - running_mean[c])
            running_var[c] += momentum * (var * count / (count - 1) - running_var[c])
            statistics[1, c] = 1 / np.sqrt(var + eps)
    else:
        for c in range(channels):
            statistics[0, c], statistics[1, c] = running_mean[c], 1 / np.sqrt(np.float64(running_var[c]) + eps)
    scale, shift = np.empty(width, np.float32), np.empty(width, np.float32)
    for k in range(width):
        c = k % channels
        factor = gamma[c] * statistics[1, c]
        scale[k], shift[k] = factor, beta[c] - statistics[0, c] * factor
    if addresses[1]:
        other = carray(_numbers_at(addresses[1]), (rows, width))
        for row in range(rows):
            for k in range(width):
                v = x[row, k] * scale[k] + shift[k] + other[row, k]
                y[row, k] = _zero if v <= _zero else v  # NaN stays NaN
    else:
        for row in range(rows):
            for k in range(width):
                v = x[row, k] * scale[k] + shift[k]
                y[row, k] = _zero if v <= _zero else v


@kernel
def _measure(x: Any, channels: int, statistics: Any) -> None:
    """Mean and variance (with divisor n) of every channel; of deviations from the first rows' mean, so that less cancels out."""
    rows, width = x.shape
    few = min(16, rows)
    statistics[:] = 0.0
    for row in range(few):
        for k in range(width):
            statistics[0, k % channels] += x[row, k]
    pivot = np.empty(width, np.float32)
    for k in range(width):
        pivot[k] = statistics[0, k % channels] * channels / (few * width)
    sums, short, square = np.zeros((2, width)), np.empty(width, np.float32), np.empty(width, np.float32)
    for start in range(0, rows, _RUN):
        short[:] = _zero
        square[:] = _zero
        for row in range(start, min(start + _RUN, rows)):
            for k in range(width):
                d = x[row, k] - pivot[k]
                short[k] += d
                square[k] += d * d
        for k in range(width):
            sums[0, k] += short[k]
            sums[1, k] += square[k]
    _fold(sums, statistics)
    count = rows * (width // channels)
    for c in range(channels):
        offset = statistics[0, c] / count
        statistics[0, c], statistics[1, c] = pivot[c] + offset, max(statistics[1, c] / count - offset * offset, 0.0)


@kernel
def _fold(columns: Any, channels: Any) -> None:
    """The sums of the columns that belong to a channel."""
    channels[:] = 0.0
    for k in range(columns.shape[1]):
        c = k % channels.shape[1]
        channels[0, c] += columns[0, k]
        channels[1, c] += columns[1, k]


@kernel
def backward(addresses: Any, rows: int, width: int, channels: int, training: bool, statistics: Any) -> None:
    """The gradients of x, of what was added, of gamma and beta.

    ``addresses``: gradient, x, y, gamma; for what is to be written (0: not needed): x, other, gamma, beta.
    """
    grad_output, x = carray(_numbers_at(addresses[0]), (rows, width)), carray(_numbers_at(addresses[1]), (rows, width))
    y, gamma = carray(_numbers_at(addresses[2]), (rows, width)), carray(_numbers_at(addresses[3]), channels)
    total = np.zeros((2, channels))
    if training or addresses[6] or addresses[7]:
        _sum_gradients(grad_output, x, y, statistics, total)
    if addresses[6]:
        grad_gamma = carray(_numbers_at(addresses[6]), channels)
        for c in range(channels):
            grad_gamma[c] = total[1, c] * statistics[1, c]
    if addresses[7]:
        grad_beta = carray(_numbers_at(addresses[7]), channels)
        for c in range(channels):
            grad_beta[c] = total[0, c]
    if not addresses[4] and not addresses[5]:
        return
    # the gradient of x is by_gradient g + by_x x + constant
    by_gradient, by_x, constant = (
        np.empty(width, np.float32),
        np.zeros(width, np.float32),
        np.zeros(width, np.float32),
    )
    count = rows * (width // channels)
    for k in range(width):
        c = k % channels
        mean, inverse = statistics[0, c], statistics[1, c]
        factor = gamma[c] * inverse
        by_gradient[k] = factor
        if training:
            coefficient = -factor * inverse * inverse * total[1, c] / count
            by_x[k], constant[k] = coefficient, -factor * total[0, c] / count - coefficient * mean
    if addresses[5]:
        grad_x = carray(_numbers_at(addresses[4]), (rows, width))
        grad_other = carray(_numbers_at(addresses[5]), (rows, width))
        for row in range(rows):
            for k in range(width):
                g = grad_output[row, k]
                g = g if y[row, k] > _zero else _zero
                grad_other[row, k] = g
                grad_x[row, k] = by_gradient[k] * g + by_x[k] * x[row, k] + constant[k]
    else:
        grad_x = carray(_numbers_at(addresses[4]), (rows, width))
        for row in range(rows):
            for k in range(width):
                g = grad_output[row, k]
                g = g if y[row, k] > _zero else _zero
                grad_x[row, k] = by_gradient[k] * g + by_x[k] * x[row, k] + constant[k]


@kernel
def _sum_gradients(grad_output: Any, x: Any, y: Any, statistics: Any, total: Any) -> None:
    """Sums of g = gradient [y > 0] and of g (x - mean) for every channel."""
    rows, width = x.shape
    mean = np.empty(width, np.float32)
    for k in range(width):
        mean[k] = statistics[0, k % statistics.shape[1]]
    sums, short, product = np.zeros((2, width)), np.empty(width, np.float32), np.empty(width, np.float32)
    for start in range(0, rows, _RUN):
        short[:] = _zero
        product[:] = _zero
        for row in range(start, min(start + _RUN, rows)):
            for k in range(width):
                g = grad_output[row, k]
                g = g if y[row, k] > _zero else _zero
                short[k] += g
                product[k] += g * (x[row, k] - mean[k])
        for k in range(width):
            sums[0, k] += short[k]
            sums[1, k] += product[k]
    _fold(sums, total)
