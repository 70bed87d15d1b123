"""Curves over phase 2, smoothed like the index smooths them, paired by seed, and summed up over seeds."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.metrics.curves import smooth
from einstellung.metrics.survival import TimeToThreshold
from einstellung.timeline import SC_MASK, SC_PATCH


class PhaseTwoCurves:
    """The smoothed curves of a timeline, one column per seed.

    Smoothing is the card's own (window and kind), so a curve crosses τ exactly where its delay was read.
    """

    def __init__(self, frame: pd.DataFrame, card: RigidityCard) -> None:
        self._frame = frame[frame["phase"] == "T2"]
        self._groups = dict(tuple(self._frame.groupby(["method", "split"], sort=False)))
        self._card = card

    @property
    def last_epoch(self) -> float:
        """The longest budget of phase 2."""
        return float(self._frame["epoch"].max())

    def accuracy(self, method: str, split: str = SC_PATCH) -> pd.DataFrame:
        """Smoothed accuracy: rows are epochs, columns are the seeds that were measured after epoch 0."""
        group = self._groups.get((method, split))
        if group is None:
            return pd.DataFrame(dtype=float)
        smoothed = {}
        for seed, curve in group.groupby("seed"):
            ordered = curve.sort_values("epoch")
            epochs, acc = ordered["epoch"].to_numpy(float), ordered["acc"].to_numpy(float)
            smoothed[seed] = pd.Series(smooth(epochs, acc, self._card.window, self._card.smoothing), index=epochs)
        return pd.DataFrame(smoothed).dropna(how="all").dropna(how="all", axis="columns")

    def times_to_threshold(self, method: str) -> list[TimeToThreshold]:
        """When each run reached τ, as scored, and how long it was watched."""
        per_seed = self._card.methods[method].per_seed
        table = self.accuracy(method)
        return [TimeToThreshold(per_seed[int(str(seed))].E, float(table[seed].dropna().index.max())) for seed in table]

    def deficit(self, method: str) -> pd.DataFrame:
        """PD over time: A_S - A_CL for every seed that both models have."""
        return self._paired(self.accuracy(self._card.baseline), self.accuracy(method))

    def reliance(self, method: str) -> pd.DataFrame:
        """Δ over time: accuracy with the cue minus accuracy with the cue covered."""
        return self._paired(self.accuracy(method, SC_PATCH), self.accuracy(method, SC_MASK))

    def relative_reliance(self, method: str) -> pd.DataFrame:
        """SFR_rel over time: Δ_CL - Δ_S for every seed that both models have."""
        return self._paired(self.reliance(method), self.reliance(self._card.baseline))

    @staticmethod
    def _paired(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        seeds = [seed for seed in left.columns if seed in right.columns]
        epochs = left.index.intersection(right.index)
        return left.loc[epochs, seeds] - right.loc[epochs, seeds]


def epoch_axis(axes: Axes, last: float, *, label: bool = True) -> None:
    """The x axis of everything that happens over phase 2."""
    axes.set_xlim(0, last * 1.015)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=last >= 4, steps=[1, 2, 5, 10]))
    if label:
        axes.set_xlabel("effective epoch of phase 2")
