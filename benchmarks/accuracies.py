"""Final accuracies of two sides that ran the same training in different ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.comparison import counted
from benchmarks.measuring import row
from einstellung.timeline import Timeline

SEEDS_NEEDED = 3  # for a meaningful spread

Accuracies = dict[str, dict[str, list[float]]]  # by method, then by split: a value for every seed


@dataclass(frozen=True)
class Difference:
    """One method on one split: both sides' means over seeds and the wider of their spreads (highest less lowest)."""

    split: str
    ours: float
    theirs: float
    spread: float
    seeds: int

    @classmethod
    def of(cls, split: str, ours: Sequence[float], theirs: Sequence[float]) -> Difference:
        """
        >>> Difference.of("T2_val", [0.25, 0.5, 0.75], [0.5, 0.5, 0.625])
        Difference(split='T2_val', ours=0.5, theirs=0.5416666666666666, spread=0.5, seeds=3)
        """
        if len(ours) != len(theirs):
            raise ValueError(f"{len(ours)} runs against {len(theirs)} on {split}")
        spread = max(max(ours) - min(ours), max(theirs) - min(theirs))
        return cls(split, mean(ours), mean(theirs), spread, len(ours))

    @property
    def size(self) -> float:
        return abs(self.ours - self.theirs)

    @property
    def within(self) -> bool | None:
        """Whether the means differ by no more than runs with different seeds do; None with too few seeds.

        >>> Difference("T2_val", 0.5, 0.5625, 0.0625, 3).within, Difference("T2_val", 0.5, 0.5625, 0.0625, 2).within
        (True, None)
        """
        return self.size <= self.spread if self.seeds >= SEEDS_NEEDED else None


def at_the_end(folder: Path) -> dict[tuple[str, int], dict[str, float]]:
    """Accuracy on every split at the last moment of the last phase, by method and seed of the runs in a results folder."""
    timeline = Timeline.read_many(sorted(folder.glob("runs/*/timeline.csv")))
    return {
        (method, seed): {
            split: float(curve.acc[-1])
            for split, curve in timeline.curves(method, seed, timeline.phases(method, seed)[-1]).items()
        }
        for method, seed in timeline.runs
    }


def gathered(runs: Sequence[tuple[str, Mapping[str, float]]]) -> Accuracies:
    """Runs, each with its method, as accuracies by method and split.

    >>> gathered([("sgd", {"T2_val": 0.5}), ("sgd", {"T2_val": 0.75})])
    {'sgd': {'T2_val': [0.5, 0.75]}}
    """
    by_method: Accuracies = {}
    for method, splits in runs:
        for split, accuracy in splits.items():
            by_method.setdefault(method, {}).setdefault(split, []).append(accuracy)
    return by_method


def compared(ours: Accuracies, theirs: Accuracies) -> dict[str, list[Difference]]:
    """By method, a difference for every split; both sides must have measured the same."""
    if {method: set(splits) for method, splits in ours.items()} != {
        method: set(splits) for method, splits in theirs.items()
    }:
        raise ValueError("the two sides measured different methods or splits")
    return {
        method: [Difference.of(split, values, theirs[method][split]) for split, values in splits.items()]
        for method, splits in ours.items()
    }


def rows_of(where: str, differences: Mapping[str, Sequence[Difference]]) -> list[dict[str, Any]]:
    """A line for every method: its largest difference, and on how many splits it is within the spread over seeds.

    With too few seeds for a spread, one line gives the largest difference of all and says that it is not conclusive.
    """
    pooled = [difference for found in differences.values() for difference in found]
    if any(difference.within is None for difference in pooled):
        return [_row(f"{where}, all methods", pooled, differences)]
    return [_row(f"{where}, {method}", found, {method: found}) for method, found in differences.items()]


def _row(what: str, found: Sequence[Difference], differences: Mapping[str, Sequence[Difference]]) -> dict[str, Any]:
    worst = max(found, key=lambda difference: difference.size)
    inside = [difference.within for difference in found]
    measured = f"{worst.size:.3f} on {worst.split} (ours {worst.ours:.3f}, run by run {worst.theirs:.3f}"
    reached, more = None, {}
    if None in inside:
        measured += f"; {counted(worst.seeds, 'seed')} only)"
        more = {"undecided": f"not shown with {counted(worst.seeds, 'seed')}"}
    else:
        measured += (
            f"; spread over {worst.seeds} seeds {worst.spread:.3f}); {sum(map(bool, inside))} of {len(found)} within"
        )
        reached = all(inside)
    return row(
        f"{what}: largest difference of mean accuracies at the end, ours against run by run",
        measured,
        "on every split within the spread over seeds",
        reached,
        differences={method: [asdict(one) for one in some] for method, some in differences.items()},
        **more,
    )
