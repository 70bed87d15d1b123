"""Time to threshold when some runs never get there: Kaplan-Meier and restricted means.

The plain delay leaves out every seed on which one side never reaches the threshold, and so favours the lucky ones.
Here a run that never does counts as 'not within its budget'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.metrics.statistics import summarise

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TimeToThreshold:
    """One run: when it reached the threshold (None: never), and how long it was watched."""

    reached: float | None
    budget: float


@dataclass(frozen=True)
class SurvivalCurve:
    """Share of runs still below the threshold: ``share[i]`` from ``times[i]`` until the next; 1 at time 0."""

    times: FloatArray
    share: FloatArray

    @property
    def median(self) -> float | None:
        """First time at which at most half of the runs are below the threshold."""
        half = self.share <= 0.5
        return float(self.times[int(np.argmax(half))]) if half.any() else None


def kaplan_meier(runs: Sequence[TimeToThreshold]) -> SurvivalCurve:
    r"""Kaplan-Meier estimate of the share of runs that have not reached the threshold by time t.

    .. math:: S(t) = \prod_{t_i \le t} (1 - d_i / r_i)

    with :math:`d_i` runs reaching it at :math:`t_i` out of :math:`r_i` still watched and below.

    >>> curve = kaplan_meier([TimeToThreshold(3, 10), TimeToThreshold(5, 10), TimeToThreshold(None, 10)])
    >>> curve.times.tolist(), curve.share.round(3).tolist(), curve.median
    ([0.0, 3.0, 5.0, 10.0], [1.0, 0.667, 0.333, 0.333], 5.0)
    """
    ends = np.array([run.budget if run.reached is None else run.reached for run in runs], dtype=np.float64)
    reached = np.array([run.reached is not None for run in runs])
    times = np.union1d(0.0, ends)
    watched = len(ends) - np.searchsorted(np.sort(ends), times)  # still watched and below just before each time
    reaching = (times[:, None] == ends[reached]).sum(axis=1)
    return SurvivalCurve(times, np.cumprod(1.0 - reaching / watched))


def restricted_mean(curve: SurvivalCurve, horizon: float) -> float:
    r"""Mean of the time to threshold, cut at ``horizon``.

    .. math:: \mu = \int_0^h S(t)\,dt

    The integral is exact, for S is a step function.

    >>> curve = kaplan_meier([TimeToThreshold(3, 10), TimeToThreshold(5, 10), TimeToThreshold(None, 10)])
    >>> round(restricted_mean(curve, 10), 3)
    6.0
    """
    edges = np.minimum(np.append(curve.times, max(horizon, float(curve.times[-1]))), horizon)
    return float((curve.share * np.diff(edges)).sum())


@dataclass(frozen=True)
class MeanDifference:
    """A difference of restricted means with its 95 % interval; None where undefined."""

    value: float | None = None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class Survival:
    """Time to threshold of one method's runs, and the restricted mean difference to the baseline's."""

    budget: float
    events: int
    n: int
    median: float | None
    restricted_mean: float
    restricted_mean_difference: MeanDifference


def survival(
    method: Mapping[int, TimeToThreshold],
    baseline: Mapping[int, TimeToThreshold] | None = None,
    resolution: float = 0.0,
) -> Survival | None:
    r"""Survival summary of a method's runs (by seed); None where no run has a curve.

    The difference of restricted means :math:`\mu_{CL} - \mu_S` is taken on the common seeds up to the shortest budget h among
    all the runs compared, so no run is censored before it. Both are then means over seeds of :math:`\min(E, h)`, so the
    difference is paired by seed like AD: a t interval over the seeds' differences, never narrower than ± ``resolution`` (half
    an evaluation step), and undefined below two common seeds.

    >>> sgd = {1: TimeToThreshold(2, 10), 2: TimeToThreshold(4, 10)}
    >>> scratch = {1: TimeToThreshold(8, 10), 2: TimeToThreshold(None, 10)}
    >>> result = survival(sgd, scratch)
    >>> result.restricted_mean, result.restricted_mean_difference.value
    (3.0, -6.0)
    """
    if not method:
        return None
    common = sorted(method.keys() & baseline.keys()) if baseline else []
    compared = [*method.values(), *(baseline[seed] for seed in common if baseline)]
    horizon = min(run.budget for run in compared)
    curve = kaplan_meier(list(method.values()))
    difference = MeanDifference()
    if baseline and common:
        found = summarise(
            [_restricted(method[seed], horizon) - _restricted(baseline[seed], horizon) for seed in common],
            resolution=resolution,
        )
        difference = MeanDifference(found.mean, found.ci95)
    return Survival(
        budget=horizon,
        events=sum(run.reached is not None for run in method.values()),
        n=len(method),
        median=curve.median,
        restricted_mean=restricted_mean(curve, horizon),
        restricted_mean_difference=difference,
    )


def _restricted(run: TimeToThreshold, horizon: float) -> float:
    return horizon if run.reached is None else min(run.reached, horizon)
