"""The splits of a study of several shortcuts: which there are, and what their names say.

A cue's value goes with one class; it is *common* in an image of that class, else *uncommon*. A pattern has a digit per cue, in
the order of the cues: 1 common, 0 uncommon. Names of splits keep to that in every phase, also in one whose training turns a cue
round. ``group_1_10``: test images of class 1 with the first cue common and the second
uncommon; ``val_1_10``: validation images of that kind; ``T1_train``, ``T1_val``: training and validation images of a phase;
``{cue}_common``, ``{cue}_swapped``, ``{cue}_covered``: test images with that cue common, and the very same with it alone swapped
or covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations, product

from einstellung.errors import InputError
from einstellung.timeline import Timeline

GROUP, VALIDATION = "group", "val"
CHANGES = ("swapped", "covered")
TWINS = ("common", *CHANGES)
COMPOSITE_CUES = ("background", "co-object", "watermark")
MOST_CUES = 8
_GROUP = re.compile(r"(group|val)_(\d{1,9})_([01]+)")
_OF_PHASE = re.compile(r"T([1-9]\d*)_(train|val)")
_TWIN = re.compile(r"(.+)_(common|swapped|covered)")
_TWIN_MEANINGS = {
    "common": "test images in which the {cue} is common",
    "swapped": "the same images with the {cue} alone swapped to the other value",
    "covered": "the same images with the {cue} covered",
}
_PHASE_MEANINGS = {
    "train": "a fixed sample of the training images of phase {phase}",
    "val": "all validation images, balanced, in phase {phase}",
}


def are_shortcuts(splits: Iterable[str]) -> bool:
    """Whether these splits are measured in studies of several shortcuts.

    >>> are_shortcuts(["T1_val", "group_0_11"]), are_shortcuts(["T1_val", "T2_group_night"])
    (True, False)
    """
    return any((match := _GROUP.fullmatch(split)) and match[1] == GROUP for split in splits)


def group_split(label: str, pattern: str, kind: str = GROUP) -> str:
    """The name of a group's split.

    >>> group_split("1", "10")
    'group_1_10'
    """
    return f"{kind}_{label}_{pattern}"


def patterns_of(cues: int) -> tuple[str, ...]:
    """Every pattern of so many cues, all common first.

    >>> patterns_of(2)
    ('11', '10', '01', '00')
    """
    return tuple("".join(digits) for digits in product("10", repeat=cues))


def subsets_of(cues: Sequence[str]) -> dict[str, str]:
    """Every set of cues that may be uncommon at once, smallest first, with the pattern in which just they are.

    >>> subsets_of(["background", "co-object"])
    {'background': '01', 'co-object': '10', 'background+co-object': '00'}
    """
    chosen = [places for size in range(1, len(cues) + 1) for places in combinations(range(len(cues)), size)]
    return {
        "+".join(cues[place] for place in places): "".join("01"[place not in places] for place in range(len(cues)))
        for places in chosen
    }


def labels_and_width(splits: Iterable[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The classes that have groups, and the number of digits of their patterns; more than one number is an error.

    >>> labels_and_width(["group_0_11", "group_1_10", "T1_val"])
    (('0', '1'), (2,))
    """
    found = [match for split in splits if (match := _GROUP.fullmatch(split)) and match[1] == GROUP]
    for match in found:
        if len(match[3]) > MOST_CUES:  # every pattern is a group: their number doubles with each cue
            raise InputError(
                f"split '{match[0]}' has the pattern of {len(match[3])} cues: at most {MOST_CUES} are scored"
            )
    labels = sorted({match[2] for match in found}, key=lambda label: (int(label), label))
    return tuple(labels), tuple(sorted({len(match[3]) for match in found}))


def default_cues(splits: Iterable[str], width: int) -> tuple[str, ...]:
    """Default names of the cues: those of composites if the twins have exactly these names, else numbers.

    >>> default_cues(["group_0_11", "background_swapped", "co-object_swapped"], 2)
    ('background', 'co-object')
    >>> default_cues(["group_0_11"], 2)
    ('cue 1', 'cue 2')
    """
    twins = {match[1] for split in splits if (match := _TWIN.fullmatch(split))}
    expected = COMPOSITE_CUES[:width]
    return expected if twins == set(expected) else tuple(f"cue {number}" for number in range(1, width + 1))


def phases_of(timeline: Timeline) -> tuple[str, ...]:
    """Every phase that any run has rows of, in order."""
    return timeline.phase_names


def describe_split(split: str, cues: Sequence[str]) -> str | None:
    """What a split holds, in words; None where the name is none of ours.

    >>> describe_split("group_1_10", ["background", "co-object"])
    'test images of class 1: background common, co-object uncommon'
    >>> describe_split("group_1_1", ["background", "co-object"]) is None
    True
    """
    if (match := _GROUP.fullmatch(split)) and len(match[3]) == len(cues):
        held = "test" if match[1] == GROUP else "validation"
        return f"{held} images of class {match[2]}: {describe_pattern(match[3], cues)}"
    if (match := _TWIN.fullmatch(split)) and match[1] in cues:
        return _TWIN_MEANINGS[match[2]].format(cue=match[1])
    if match := _OF_PHASE.fullmatch(split):
        return _PHASE_MEANINGS[match[2]].format(phase=f"T{match[1]}")
    return None


def describe_pattern(pattern: str, cues: Sequence[str], one: str = "common", zero: str = "uncommon") -> str:
    """What a pattern says.

    >>> describe_pattern("01", ["background", "co-object"])
    'background uncommon, co-object common'
    """
    words = {"1": one, "0": zero}
    return ", ".join(f"{cue} {words[digit]}" for cue, digit in zip(cues, pattern, strict=True))


def split_order(split: str, cues: Sequence[str]) -> tuple[int, str, str]:
    """The sort key of a split: groups, twins by cue, validation groups, splits of phases, unknown ones last.

    >>> sorted(["T1_val", "mine", "val_0_1", "b_swapped", "b_common", "group_0_0", "group_0_1"],
    ...        key=lambda split: split_order(split, ["b"]))
    ['group_0_1', 'group_0_0', 'b_common', 'b_swapped', 'val_0_1', 'T1_val', 'mine']
    """
    if match := _GROUP.fullmatch(split):
        commonest_first = match[3].translate(str.maketrans("01", "10"))
        return (0 if match[1] == GROUP else 2), match[2].zfill(9), commonest_first
    if (match := _TWIN.fullmatch(split)) and match[1] in cues:
        return 1, str(list(cues).index(match[1])).zfill(9), str(TWINS.index(match[2]))
    if match := _OF_PHASE.fullmatch(split):
        return 3, match[1].zfill(9), match[2]
    return 4, split, ""
