"""From products of tiles to squared weight gradients, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from einstellung.kernels.jit import kernel

_f = np.float32


@kernel
def add_squares(products: Any, total: Any, begin: int, first: int, last: int) -> None:
    """total [output, 3, 3, channel] += (G^T P G)^2 of an image's products P [36, output, channel] in tiles of 6 x 6 places.

    The products of output ``first`` and those up to ``last`` belong to ``begin + first`` and so on in ``total``.
    """
    channels = products.shape[2]
    half = np.empty((3, 6, channels), _f)
    for output in range(first, last):
        for col in range(6):
            u0, u1, u2 = products[col, output], products[6 + col, output], products[12 + col, output]
            u3, u4, u5 = products[18 + col, output], products[24 + col, output], products[30 + col, output]
            w0, w1, w2 = half[0, col], half[1, col], half[2, col]
            for k in range(channels):
                p, q, r, t = u1[k] + u2[k], u2[k] - u1[k], u3[k] + u4[k], u3[k] - u4[k]
                w0[k] = u0[k] * _f(1 / 4) - p * _f(1 / 6) + r * _f(1 / 24)
                w1[k] = q * _f(1 / 6) + t * _f(1 / 12)
                w2[k] = (r - p) * _f(1 / 6) + u5[k]
        for row in range(3):
            u0, u1, u2, u3, u4, u5 = half[row, 0], half[row, 1], half[row, 2], half[row, 3], half[row, 4], half[row, 5]
            s0, s1, s2 = total[begin + output, row, 0], total[begin + output, row, 1], total[begin + output, row, 2]
            for k in range(channels):
                p, q, r, t = u1[k] + u2[k], u2[k] - u1[k], u3[k] + u4[k], u3[k] - u4[k]
                a = u0[k] * _f(1 / 4) - p * _f(1 / 6) + r * _f(1 / 24)
                b = q * _f(1 / 6) + t * _f(1 / 12)
                c = (r - p) * _f(1 / 6) + u5[k]
                s0[k] += a * a
                s1[k] += b * b
                s2[k] += c * c
