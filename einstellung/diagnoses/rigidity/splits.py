"""The splits that the rigidity index reads: what each holds, and which of them show the same images."""

from __future__ import annotations

from collections.abc import Iterable

from einstellung.timeline import (
    HABIT_MASK,
    HABIT_PATCH,
    NSC,
    NSC_PATCHED,
    SC_CLEAN,
    SC_ELSEWHERE,
    SC_MASK,
    SC_PATCH,
    T1_ALL,
    VAL,
)

#: The card's key of an accuracy -> the split that it is measured on.
SPLIT_OF = {
    "SC_patch": SC_PATCH,
    "SC_mask": SC_MASK,
    "SC_clean": SC_CLEAN,
    "SC_elsewhere": SC_ELSEWHERE,
    "NSC": NSC,
    "NSC_patched": NSC_PATCHED,
    "T1": T1_ALL,
}
SAME_IMAGES = ((SC_PATCH, SC_MASK), (SC_PATCH, SC_ELSEWHERE), (SC_PATCH, SC_CLEAN), (NSC, NSC_PATCHED))
MEANING = {
    T1_ALL: "all phase 1 test images",
    SC_PATCH: "shortcut classes, cue present",
    SC_MASK: "the same images, cue covered",
    SC_CLEAN: "the same images, without the cue",
    SC_ELSEWHERE: "the same images, cue at another position",
    NSC: "phase 2 classes without the cue",
    NSC_PATCHED: "phase 2 classes without the cue, cue added at test time",
    HABIT_PATCH: "phase 1 test images of the classes with a habit, cue present",
    HABIT_MASK: "the same images, cue covered",
    VAL: "held out from phase 2 training; selects the checkpoint",
    "T1_val": "phase 1 validation; shown but not used",
}
GROUP = "T2_group_"


def recognises(splits: Iterable[str]) -> bool:
    """Whether a log was made for the index: it has images with the cue, or the same ones with the cue covered."""
    return any(split in (SC_PATCH, SC_MASK) for split in splits)


def describe_split(split: str) -> str | None:
    """What a split holds, in words.

    >>> describe_split("T2_group_night"), describe_split("mine")
    ("phase 2 test images of the group 'night'", None)
    """
    if split.startswith(GROUP):
        return f"phase 2 test images of the group '{split.removeprefix(GROUP)}'"
    return MEANING.get(split)


def split_order(split: str) -> tuple[int, str]:
    """The known splits first, the others by name."""
    return (list(MEANING).index(split) if split in MEANING else len(MEANING), split)
