"""Where a vision transformer's class token looks: numbers of attention maps.

A map holds the class token's attention over an image's patches, rows x columns in the last two axes; it is non-negative and
sums to 1. Attention is no proof of use: what a net loses when the cue is covered up stands beside these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError

FloatArray = npt.NDArray[np.float64]
Number = TypeVar("Number", float, FloatArray)

_PATCHES = (-2, -1)


def attention_share(maps: npt.ArrayLike, box: npt.ArrayLike) -> FloatArray:
    r"""AS, the attention inside the cue's box, per map.

    .. math:: AS = \sum_t a_t b_t

    with b_t the share of patch t's area that lies inside the box (:func:`token_shares`). Attention that is spread evenly has
    the box's share of the image.

    >>> print(attention_share([[0.4, 0.2], [0.3, 0.1]], [[1, 0.5], [0, 0]]))
    0.5
    """
    inside: FloatArray = np.sum(np.asarray(maps, dtype=np.float64) * np.asarray(box, dtype=np.float64), axis=_PATCHES)
    return inside


def entropy(maps: npt.ArrayLike) -> FloatArray:
    r"""How widely each map is spread, in nats; its negative is the AS of images without a box.

    .. math:: H = -\sum_t a_t \ln a_t \quad (0 \ln 0 = 0)

    >>> print(entropy([[0.5, 0.5], [0, 0]]) == np.log(2))
    True
    """
    values = np.asarray(maps, dtype=np.float64)
    logarithms = np.log(values, out=np.zeros_like(values), where=values > 0)
    spread: FloatArray = -np.sum(values * logarithms, axis=_PATCHES)
    return spread


def attention_gain(cue: Number, clean: Number) -> Number:
    r"""SAG, how much more attention the box draws when the cue is in it, relative to the clean images.

    .. math:: SAG = \frac{AS_{cue} - AS_{clean}}{AS_{clean} + 10^{-8}}

    >>> round(attention_gain(0.3, 0.1), 6)
    2.0
    """
    return (cue - clean) / (clean + 1e-8)


def map_similarity(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    r"""CTAS, the cosine of two mean maps, of two phases or two moments.

    .. math:: CTAS = \frac{\bar a \cdot \bar a'}{|\bar a| \, |\bar a'|}

    >>> print(map_similarity([[1, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]]))
    0.5
    """
    cosine: FloatArray = np.sum(_unit(first) * _unit(second), axis=_PATCHES)
    return cosine


def diversity(maps: npt.ArrayLike) -> FloatArray:
    r"""ADI, how different the images' maps are; images along the first axis, at least two of them.

    .. math:: ADI = 1 - \frac{2}{n (n - 1)} \sum_{i < j} \cos(a_i, a_j)

    >>> print(diversity([[[1, 0]], [[0, 1]], [[0, 1]]]).round(6))
    0.666667
    """
    statistics = MapStatistics()
    statistics.add(maps)
    if statistics.diversity is None:
        raise InputError(f"the diversity of {statistics.n} maps is undefined: give at least two")
    return statistics.diversity


@dataclass
class MapStatistics:
    r"""Mean map, AS, entropy and ADI over images that come in batches; no map is kept.

    ADI needs no pairs: with unit vectors :math:`u_i`, the sum of cosines over ordered pairs is
    :math:`|\sum_i u_i|^2 - \sum_i |u_i|^2`.

    >>> statistics = MapStatistics()
    >>> statistics.add([[[1.0, 0.0]]], box=[[[1, 0]]])
    >>> statistics.add([[[0.0, 1.0]], [[0.0, 1.0]]], box=[[[1, 0]], [[1, 0]]])
    >>> print(statistics.mean_map.round(3), statistics.share.round(3), statistics.diversity.round(3))
    [[0.333 0.667]] 0.333 0.667
    """

    n: int = 0
    _maps: FloatArray | float = 0.0
    _units: FloatArray | float = 0.0
    _squares: FloatArray | float = 0.0
    _entropies: FloatArray | float = 0.0
    _shares: FloatArray | float = 0.0
    _boxed: bool = False

    def add(self, maps: npt.ArrayLike, box: npt.ArrayLike | None = None) -> None:
        """A batch of maps [B, ..., rows, columns], with the box [B, rows, columns] of each image where there is one."""
        values = np.asarray(maps, dtype=np.float64)
        if self.n and self._boxed != (box is not None):
            raise InputError("some batches have a region and others do not: give one with every batch or with none")
        if box is not None:
            boxes = np.asarray(box, dtype=np.float64)
            boxes = boxes.reshape(boxes.shape[0], *[1] * (values.ndim - 3), *boxes.shape[-2:])
            self._boxed = True
            self._shares = self._shares + attention_share(values, boxes).sum(axis=0)
        units = _unit(values)
        self.n += len(values)
        self._maps = self._maps + values.sum(axis=0)
        self._units = self._units + units.sum(axis=0)
        self._squares = self._squares + np.sum(units**2, axis=(0, *_PATCHES))
        self._entropies = self._entropies + entropy(values).sum(axis=0)

    @property
    def mean_map(self) -> FloatArray:
        return np.asarray(self._maps) / self.n

    @property
    def share(self) -> FloatArray | None:
        """The mean AS; None without boxes."""
        return np.asarray(self._shares) / self.n if self._boxed else None

    @property
    def entropy(self) -> FloatArray:
        return np.asarray(self._entropies) / self.n

    @property
    def diversity(self) -> FloatArray | None:
        """None for fewer than two images."""
        if self.n < 2:
            return None
        pairs = np.sum(np.asarray(self._units) ** 2, axis=_PATCHES) - self._squares
        # no cosine is above 1, but a sum of them may be, by rounding
        unlike: FloatArray = np.maximum(1 - pairs / (self.n * (self.n - 1)), 0.0)
        return unlike


def token_shares(region: npt.ArrayLike, grid: tuple[int, int]) -> FloatArray:
    """The share of each patch's area that lies inside a region of pixels [..., height, width].

    The pixels may be those of the image before it was enlarged: places are told relative to its sides, so that neither number
    needs to be a multiple of the other.

    >>> token_shares([[True, True, True, False]], (1, 2)).tolist()
    [[1.0, 0.5]]
    """
    pixels = np.asarray(region, dtype=np.float64)
    rows, columns = (_overlap(pixels.shape[axis], grid[axis]) for axis in _PATCHES)
    return rows @ pixels @ columns.T


def _overlap(pixels: int, tokens: int) -> FloatArray:
    """[tokens, pixels]: the share of each token's length that each pixel covers."""
    edges = np.arange(tokens + 1) * pixels / tokens
    starts = np.arange(pixels)
    covered = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    shares: FloatArray = np.maximum(covered, 0.0) * tokens / pixels
    return shares


def _unit(maps: npt.ArrayLike) -> FloatArray:
    values = np.asarray(maps, dtype=np.float64)
    length = np.sqrt(np.sum(values**2, axis=_PATCHES, keepdims=True))
    if not np.all(length > 0):
        raise InputError("an attention map is all zeros or NaN, so its direction is undefined")
    units: FloatArray = values / length
    return units
