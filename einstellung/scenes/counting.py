"""How many scenes there are of every sort, exactly.

A scene is an ordered tuple of K objects, each of one of the kinds. What any rule says of it depends only on its mask, the OR
of its objects' signatures. Let n(X) be the number of kinds whose signature lies within X. Then n(X)^K tuples have their mask
within X, and Moebius inversion over subsets gives how many have exactly X.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from einstellung.scenes.rule_book import Bools, Masks, RuleBook


@dataclass(frozen=True)
class MaskCounts:
    """The masks that scenes can have, and how many scenes have each."""

    masks: Masks
    counts: Masks

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def number(self, where: Bools) -> int:
        """How many scenes have one of the masks marked in ``where``."""
        return int(self.counts[where].sum())

    def share(self, holds: Bools, given: Bools) -> Fraction:
        """The share of scenes with ``holds`` among those with ``given``, of which there must be some."""
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
    # Never above the number of all scenes, half way through the inversion too: RuleBook sees to it that it fits.
    exactly = within**book.objects
    _over_subsets(exactly, bits, np.subtract)
    masks = np.flatnonzero(exactly)
    return MaskCounts(masks.astype(np.int64), exactly[masks])


def _over_subsets(values: Masks, bits: int, combine: np.ufunc) -> None:
    """Sum ``values`` over all subsets of every mask in place (``np.add``), or undo that (``np.subtract``)."""
    for bit in range(bits):
        halves = values.reshape(-1, 2, 1 << bit)
        combine(halves[:, 1], halves[:, 0], out=halves[:, 1])
