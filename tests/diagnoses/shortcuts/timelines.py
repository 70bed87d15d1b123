"""Timelines of several shortcuts for the tests: accuracies given by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from einstellung.metrics.image_pairs import PREDICTION_COLUMNS
from einstellung.timeline import Timeline

CUES = ("background", "co-object")
BOTH = {"cues": CUES, "correlations": (0.95, 0.95)}
SWITCH = {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}
HALF = {"cues": CUES, "correlations": (0.5, 0.95)}  # the background tells nothing, and half of all images lack it
TURNED = {"T1": (0.95, 0.95), "T2": (0.05, 0.05)}

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
    twins: bool = False,
    extra: Mapping[str, float] | None = None,
    epochs: Sequence[float] = (4.0,),
) -> Timeline:
    """method -> phase -> pattern -> accuracy; seeds differ by ``spread`` in all but the all-common pattern.

    They differ in another way in every method and phase, so that paired differences have a spread too. ``twins``: with twins that
    lose what the patterns say.
    """
    rows = []
    for number, (method, phases) in enumerate(ends.items()):
        for place, seed in enumerate(seeds):
            for turn, (phase, patterns) in enumerate(phases.items()):
                way = (-1) ** (number + turn) / 2 ** ((number + turn) // 2)
                shift = way * spread * (place - (len(seeds) - 1) / 2)
                shifted = {
                    pattern: min(max(acc + (shift if "0" in pattern else 0), 0), 1) for pattern, acc in patterns.items()
                }
                more = {**(twins_like(shifted) if twins else {}), **(extra or {})}
                rows += rows_of(method, seed, phase, {**groups(shifted), **more}, epochs=epochs)
    return timeline_of(rows)


def twins_like(patterns: Patterns) -> dict[str, float]:
    """Twins of both cues on images of all patterns of the other cue: they lose what the main effects are; covered is between."""
    found = {}
    for place, cue in enumerate(CUES):
        common, swapped = (
            sum(acc for pattern, acc in patterns.items() if pattern[place] == digit) / 2 for digit in "10"
        )
        found |= {f"{cue}_common": common, f"{cue}_swapped": swapped, f"{cue}_covered": (common + swapped) / 2}
    return found


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


#: As the paper's Table 3, nearly: erm relies on both; cutmix on the background more, on the co-object less; lle on neither.
PAPERLIKE = {
    "erm": {"T1": two_cues(1.0, 0.87, 0.82, 0.28)},
    "cutmix": {"T1": two_cues(1.0, 0.95, 0.52, 0.10)},
    "lle": {"T1": two_cues(0.97, 0.95, 0.96, 0.90)},
}

#: Both lose .20 where the co-object is uncommon; only the second relies on the background, which moves its ID accuracy.
EVEN = two_cues(0.95, 0.75, 0.95, 0.75)
LEANING = two_cues(0.95, 0.75, 0.65, 0.45)
LEANS = {"erm": {"T1": two_cues(0.95, 0.8, 0.5, 0.4), "T2": two_cues(0.4, 0.5, 0.8, 0.95)}}


def moved(erm_left: float = 0.8) -> dict:
    """Phase T1 ties the background to the label, T2 the co-object; erm keeps leaning on the background."""
    return {
        "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, erm_left, 0.5)},
        "lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.9, 0.94, 0.9)},
    }


def selected(worst: list[float], test: list[float], *, epochs=(1, 2, 3)) -> list[tuple]:
    rows = []
    for epoch, low, acc in zip(epochs, worst, test, strict=True):
        validation = groups(two_cues(0.9, 0.9, 0.9, 0.9), "val") | {"val_1_00": low}
        rows += rows_of("erm", 1, "T1", validation | groups(two_cues(0.9, 0.9, 0.9, acc)), epochs=(epoch,))
    return rows


def two_phases(worst: dict[str, list[float]]) -> list[tuple]:
    """Of every phase, epochs 1, 2, ... whose worst validation group and whose 00 test groups are as given."""
    rows = []
    for phase, values in worst.items():
        for epoch, low in enumerate(values, start=1):
            validation = groups(two_cues(0.9, 0.9, 0.9, 0.9), "val") | {"val_1_00": low}
            rows += rows_of("erm", 1, phase, validation | groups(two_cues(0.9, 0.9, 0.9, low)), epochs=(epoch,))
    return rows


def with_twins(
    method: str, common: float, swapped: float, covered: float, *, late: float, seed: int = 1
) -> list[tuple]:
    """T1 and T2; in T2, ID accuracy is 0.5 until epoch ``late`` and 0.95 from there on."""
    rows = []
    for phase in ("T1", "T2"):
        for epoch in (1, 2, 3, 4):
            acc = 0.95 if phase == "T1" or epoch >= late else 0.5
            twins = {
                f"background_{kind}": value
                for kind, value in zip(("common", "swapped", "covered"), (common, swapped, covered), strict=True)
            }
            rows += rows_of(method, seed, phase, groups(two_cues(acc, acc, acc, acc)) | twins, epochs=(epoch,))
    return rows
