"""Estimates on the card of several shortcuts: gaps, reliance, their differences and ratios, with what they are measured from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

from einstellung.metrics.ratios import Ratio
from einstellung.metrics.statistics import Summary

#: What a gap is measured from. ``own`` and ``fixed``: ID accuracy with the weights of the phase, or with those that all phases
#: share. ``common``: accuracy where every cue goes with the label. ``alone``: accuracy where every cue is as is common in the
#: phase, which is the same unless a cue is turned there.
Weighting = Literal["own", "fixed", "common", "alone"]
WEIGHTINGS: tuple[Weighting, ...] = ("own", "fixed", "common", "alone")

#: What verdicts rest on. ``twins``: accuracy on test images in which a cue is common minus that on the same images with the cue
#: swapped. ``main effects``: accuracy where it is common minus accuracy where it is not, over all patterns of the other cues.
Basis = Literal["twins", "main effects"]


@dataclass(frozen=True)
class GapEstimate(Summary):
    """A gap or a reliance over seeds. ``images95``: its 95 % interval over test images, None where predictions are not known."""

    images95: tuple[float, float] | None = None

    @classmethod
    def of(cls, summary: Summary, images95: tuple[float, float] | None = None) -> Self:
        """A gap from its summary over seeds."""
        return cls(**vars(summary), images95=images95)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that allows for seeds and, where predictions are known, for images; None with a single seed.

        What seeds and what images do to a mean over seeds is independent of each other, so that variances add up, and with
        them the squares of an interval's half widths.

        >>> GapEstimate(0.0, 0.1, 3, (-0.3, 0.3), "t", images95=(-0.4, 0.4)).bounds
        (-0.5, 0.5)
        >>> GapEstimate(0.0, 0.1, 3, (-0.3, 0.3), "t").bounds
        (-0.3, 0.3)
        """
        if self.ci95 is None or self.images95 is None or self.mean is None:
            return self.ci95
        (low, high), (least, most), mean = self.ci95, self.images95, self.mean
        return mean - math.hypot(mean - low, mean - least), mean + math.hypot(high - mean, most - mean)


@dataclass(frozen=True)
class GapDifference(GapEstimate):
    """A method's gap minus the baseline's, paired by seed, with the p of a paired t test."""

    p: float | None = None


@dataclass(frozen=True)
class RelianceDifference(GapDifference):
    """A method's reliance on a cue minus the baseline's. ``p_unchanged``: of the test that it stays within the margin."""

    p_unchanged: float | None = None


@dataclass(frozen=True)
class Amplification(Ratio):
    """A gap over the baseline's: the ratio of their means, and beside it a summary of the ratios seed by seed."""

    per_seed: Summary


@dataclass(frozen=True)
class Trade(Summary):
    """How much reliance on one cue went over to another. ``p``: of a t test against 0, ``p_holm``: corrected over methods.

    ``certain``: beyond the margin, the interval above 0, and p_holm at most .05, with at least three seeds.
    """

    by: Basis
    certain: bool
    p: float | None = None
    p_holm: float | None = None
