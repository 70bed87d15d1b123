"""What the numbers were measured on, in words: splits, images, seeds, smoothing, the rule of the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from einstellung.report.notation import join, number

SPLIT_MEANING = {
    "T1_all": "all phase 1 test images",
    "T2_shortcut_normal": "shortcut classes, cue present",
    "T2_shortcut_masked": "the same images, cue covered",
    "T2_shortcut_clean": "the same images, never painted",
    "T2_shortcut_elsewhere": "the same images, cue put at another place",
    "T2_nonshortcut_normal": "phase 2 classes without the cue",
    "T2_nonshortcut_patched": "phase 2 classes without the cue, cue put on for the test",
    "T2_val": "held out from phase 2 training; chooses the checkpoint",
    "T1_val": "named for validation in phase 1; shown, not used",
}
_GROUP = "T2_group_"


def meaning_of(split: str) -> str:
    """What a split holds, in words.

    >>> meaning_of("T2_group_night"), meaning_of("mine")
    ("phase 2 test images of the group 'night'", 'not one of the named splits')
    """
    if split.startswith(_GROUP):
        return f"phase 2 test images of the group '{split.removeprefix(_GROUP)}'"
    return SPLIT_MEANING.get(split, "not one of the named splits")


@dataclass(frozen=True)
class Split:
    """One evaluated split: its images, and in which methods it was measured."""

    name: str
    meaning: str
    images: str
    methods: str


def splits(frame: pd.DataFrame) -> list[Split]:
    """Every split of the timeline, the known ones first."""
    order = {name: place for place, name in enumerate(SPLIT_MEANING)}
    names = sorted(frame["split"].unique(), key=lambda name: (order.get(name, len(order)), name))
    methods = frame["method"].nunique()
    found = []
    for name in names:
        rows = frame[frame["split"] == name]
        by = list(rows["method"].unique())
        where = f"all {methods}" if len(by) == methods else join(by)
        found.append(Split(name, meaning_of(name), images_of(frame, name), where))
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


def seeds_in_words(card: Mapping[str, Any]) -> str:
    """How many seeds, and which.

    >>> seeds_in_words({"methods": {"a": {"per_seed": {"1": {}, "2": {}}}, "b": {"per_seed": {"1": {}}}}})
    '1 to 2 seeds a method (1, 2)'
    """
    counts = sorted({len(record["per_seed"]) for record in card["methods"].values()})
    names = dict.fromkeys(seed for record in card["methods"].values() for seed in record["per_seed"])
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} seeds a method ({', '.join(names)})"
    if counts == [1]:
        return f"a single seed ({', '.join(names)})"
    return f"{counts[0] if counts else 0} seeds a method ({', '.join(names)})"


def smoothing_in_words(card: Mapping[str, Any]) -> str:
    """How curves were smoothed.

    >>> smoothing_in_words({"smoothing": "trailing", "window": 3})
    'smoothed by a trailing mean over 3 epochs (epoch 0 left out)'
    """
    if card["smoothing"] == "none" or card["window"] == 1:
        return "not smoothed"
    return f"smoothed by a {card['smoothing']} mean over {card['window']} epochs (epoch 0 left out)"


def rule_in_words(card: Mapping[str, Any]) -> str:
    """Which checkpoint the final values come from."""
    rules = {"best-val": "the epoch with the best T2_val accuracy", "last": "the last epoch of phase 2"}
    return rules.get(card["final"], str(card["final"]))


def margins_in_words(card: Mapping[str, Any]) -> str:
    """The margins of the verdict: one effective epoch is ``1``, accuracies are shares."""
    margins = card["margins"]
    return f"AD {number(margins['AD'], digits=2)}, PD {number(margins['PD'])}, SFR_rel {number(margins['SFR_rel'])}"


def fewest_seeds(card: Mapping[str, Any]) -> int:
    """The smallest number of seeds that any method has."""
    return min((record["n_seeds"] for record in card["methods"].values()), default=0)
