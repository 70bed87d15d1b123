"""Timelines of several shortcuts for the tests: accuracies given by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from einstellung.metrics.image_pairs import PREDICTION_COLUMNS
from einstellung.timeline import Timeline

COLUMNS = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]
Patterns = Mapping[str, float]


def groups(patterns: Patterns, kind: str = "group", tilt: float = 0.0) -> dict[str, float]:
    """Both classes of every pattern: the accuracy ``tilt`` higher in class 0 and as much lower in class 1."""
    return {
        f"{kind}_{label}_{pattern}": acc + (tilt if label == "0" else -tilt)
        for label, (pattern, acc) in product("01", patterns.items())
    }


def rows_of(
    method: str,
    seed: int,
    phase: str,
    splits: Mapping[str, float],
    *,
    epochs: Sequence[float] = (4.0,),
    n: int | None = 50,
) -> list[tuple]:
    """The same accuracies at every epoch, but for a start at one half; losses follow, a little different by seed and split."""
    rows = []
    for place, (split, acc) in enumerate(splits.items()):
        for epoch in epochs:
            at = 0.5 if epoch == 0 else acc
            rows.append((method, seed, phase, float(epoch), split, at, 1.5 - at + seed / 1000 + place / 1e4, n))
    return rows


def timeline_of(rows: Sequence[tuple]) -> Timeline:
    return Timeline(pd.DataFrame(list(rows), columns=COLUMNS))


def study(
    ends: Mapping[str, Mapping[str, Patterns]],
    *,
    seeds: Sequence[int] = (1, 2, 3),
    spread: float = 0.0,
    extra: Mapping[str, float] | None = None,
    epochs: Sequence[float] = (4.0,),
) -> Timeline:
    """method -> phase -> pattern -> accuracy; seeds differ by ``spread`` in all but the all-common pattern."""
    rows = []
    for method, phases in ends.items():
        for place, seed in enumerate(seeds):
            shift = spread * (place - (len(seeds) - 1) / 2)
            for phase, patterns in phases.items():
                shifted = {
                    pattern: min(max(acc + (shift if "0" in pattern else 0), 0), 1) for pattern, acc in patterns.items()
                }
                rows += rows_of(method, seed, phase, {**groups(shifted), **(extra or {})}, epochs=epochs)
    return timeline_of(rows)


def two_cues(a11: float, a10: float, a01: float, a00: float) -> dict[str, float]:
    return {"11": a11, "10": a10, "01": a01, "00": a00}


def predictions_of(splits: Mapping[str, float], n: int, draws: np.random.Generator | None = None) -> pd.DataFrame:
    """As many right answers as the accuracies say, on images that are numbered through; which ones, is drawn."""
    rows = []
    for place, (split, acc) in enumerate(splits.items()):
        label = int(split.split("_")[1])
        right = np.arange(n) < round(acc * n)
        if draws is not None:
            draws.shuffle(right)
        rows += [(split, 1000 * place + i, label, label if hit else 1 - label) for i, hit in enumerate(right)]
    return pd.DataFrame(rows, columns=list(PREDICTION_COLUMNS))


#: As the paper's Table 3, nearly: erm leans on both; cutmix on the background more, on the co-object less; lle on neither.
PAPERLIKE = {
    "erm": {"T1": two_cues(1.0, 0.87, 0.82, 0.28)},
    "cutmix": {"T1": two_cues(1.0, 0.95, 0.52, 0.10)},
    "lle": {"T1": two_cues(0.97, 0.95, 0.96, 0.90)},
}
