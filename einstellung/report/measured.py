"""Descriptions of what was measured: splits, images, seeds, smoothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from einstellung.prose import join


@dataclass(frozen=True)
class MeasuredSplit:
    """One evaluated split: its images, and in which methods it was measured."""

    name: str
    meaning: str
    images: str
    methods: str


def measured_splits(
    frame: pd.DataFrame, describe: Callable[[str], str | None], order: Callable[[str], Any]
) -> list[MeasuredSplit]:
    """Every split of the timeline, in the diagnosis' own order and words."""
    methods = frame["method"].nunique()
    found = []
    for name in sorted(frame["split"].unique(), key=order):
        by = list(frame.loc[frame["split"] == name, "method"].unique())
        where = f"all {methods}" if len(by) == methods else join(by)
        meaning = describe(name) or "not a recognised split"
        found.append(MeasuredSplit(name, meaning, images_of(frame, name), where))
    return found


def images_of(frame: pd.DataFrame, split: str) -> str:
    """The number of images of a split as text.

    >>> images_of(pd.DataFrame({"split": ["a", "a"], "n": [1000, 1000]}), "a")
    '1,000 images'
    >>> images_of(pd.DataFrame({"split": ["a"]}), "a")
    'number of images not recorded'
    """
    counts = sorted(frame.loc[frame["split"] == split, "n"].dropna().unique()) if "n" in frame else []
    if not counts:
        return "number of images not recorded"
    return " or ".join(f"{int(count):,}" for count in counts) + " images"


def describe_seeds(seeds: Mapping[str, Iterable[Any]]) -> str:
    """How many seeds the methods have, and which.

    >>> describe_seeds({"a": ["1", "2"], "b": ["1"]})
    '1 to 2 seeds per method (1, 2)'
    """
    by_method = {method: [str(seed) for seed in own] for method, own in seeds.items()}
    counts = sorted({len(own) for own in by_method.values()})
    names = dict.fromkeys(seed for own in by_method.values() for seed in own)
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} seeds per method ({', '.join(names)})"
    if counts == [1]:
        return f"a single seed ({', '.join(names)})"
    return f"{counts[0] if counts else 0} seeds per method ({', '.join(names)})"


def describe_smoothing(smoothing: str, window: int) -> str:
    """How curves were smoothed.

    >>> describe_smoothing("trailing", 3)
    'smoothed by a trailing mean over 3 epochs (excluding epoch 0)'
    """
    if smoothing == "none" or window == 1:
        return "not smoothed"
    return f"smoothed by a {smoothing} mean over {window} epochs (excluding epoch 0)"
