"""The splits that the rigidity index reads: what each holds, and which of them show the same images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
from einstellung.timeline.split_names import as_second_phase

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
    """Whether a log was made for the index: it has images with the cue, or the same ones with it covered, of any phase.

    >>> recognises(["night_shortcut_masked"]), recognises(["T1_all", "T2_val"])
    (True, False)
    """
    return any(re.fullmatch(r".+_shortcut_(normal|masked)", split) for split in splits)


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


def describe_phase_split(split: str, phases: Sequence[str]) -> str | None:
    """What a split of any phase holds, in words.

    >>> describe_phase_split("T3_all", ["T1", "T3"]), describe_phase_split("night_val", ["night"])
    ('all T3 test images, as training shows them', 'held out from night training; selects the checkpoint')
    """
    phase = _phase_of(split, phases)
    if phase is None:
        return None
    if split == f"{phase}_all":
        return f"all {phase} test images, as training shows them"
    words = describe_split(str(as_second_phase(split, phase)))
    return None if words is None else words.replace("phase 2", phase)


def phase_split_order(split: str, phases: Sequence[str]) -> tuple[int, int, str]:
    """By phase, the known splits first."""
    phase = _phase_of(split, phases)
    if phase is None:
        return (len(phases), 0, split)
    own = str(as_second_phase(split, phase))
    return (phases.index(phase), list(MEANING).index(own) if own in MEANING else -1, split)


def _phase_of(split: str, phases: Sequence[str]) -> str | None:
    return max((phase for phase in phases if split.startswith(f"{phase}_")), key=len, default=None)
