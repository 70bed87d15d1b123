"""Exact counts of scenes by mask.

A scene is an ordered tuple of K objects. Whether a rule holds depends only on its mask, the OR of its objects' signatures. Let
n(X) be the number of kinds whose signature is a subset of X. Then n(X)^K tuples have a mask that is a subset of X, and Moebius
inversion over subsets gives how many have exactly the mask X.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from einstellung.scenes.rule_book import Bools, Masks, RuleBook


@dataclass(frozen=True)
class MaskCounts:
    """All possible masks, and the number of scenes with each."""

    masks: Masks
    counts: Masks

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def number(self, where: Bools) -> int:
        """The number of scenes whose mask is selected by ``where``."""
        return int(self.counts[where].sum())

    def share(self, holds: Bools, given: Bools) -> Fraction:
        """The share of scenes with ``holds`` among those with ``given``, which must not be empty."""
        return Fraction(self.number(holds & given), self.number(given))


@lru_cache(maxsize=64)
def mask_counts(book: RuleBook) -> MaskCounts:
    """Count the scenes of every mask.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> counted = mask_counts(PAPER_RULES)
    >>> counted.total == 96**4
    True
    """
    bits = len(book.patterns)
    within = np.bincount(book.signatures, minlength=1 << bits).astype(np.int64)
    _over_subsets(within, bits, np.add)
    # At most the number of all scenes, at every step of the inversion; RuleBook ensures that this fits.
    exactly = within**book.objects
    _over_subsets(exactly, bits, np.subtract)
    masks = np.flatnonzero(exactly)
    return MaskCounts(masks.astype(np.int64), exactly[masks])


def _over_subsets(values: Masks, bits: int, combine: np.ufunc) -> None:
    """Sum ``values`` over all subsets of every mask in place (``np.add``), or undo that (``np.subtract``)."""
    for bit in range(bits):
        halves = values.reshape(-1, 2, 1 << bit)
        combine(halves[:, 1], halves[:, 0], out=halves[:, 1])
