"""The parts of a two-phase stream whose classes are given by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.streams.phase_plan import PhasePlan, PhaseSettings, read_phases

Parts = dict[str, tuple[int, ...]]


def parts_by_name(
    names: Sequence[str],
    t1: Sequence[str],
    t2: Sequence[str],
    shortcut: Sequence[str],
    *,
    train: Tensor,
    test: Tensor,
    validation: float,
    prefix: str = "stream.",
    one: str = "image",
) -> Parts:
    """The class numbers of T1, T2 and of the cue's classes, checked; ``train`` and ``test`` are labels.

    >>> labels = torch.arange(4).repeat(20)
    >>> parts_by_name("abcd", "ab", "cd", "c", train=labels, test=labels, validation=0.1)
    {'t1': (0, 1), 't2': (2, 3), 'shortcut': (2,)}
    """
    parts = {
        key: class_numbers(f"{prefix}{key}", given, names)
        for key, given in (("t1", t1), ("t2", t2), ("shortcut", shortcut))
    }
    first, second, marked = (set(parts[key]) for key in ("t1", "t2", "shortcut"))

    def named(numbers: set[int]) -> str:
        return ", ".join(names[number] for number in sorted(numbers))

    if first & second:
        raise InputError(f"{named(first & second)} is in {prefix}t1 and in {prefix}t2: phases must not share a class")
    if marked - second:
        raise InputError(f"{prefix}shortcut names {named(marked - second)}, which is not in {prefix}t2")
    if marked == second:
        raise InputError(f"{prefix}shortcut holds all of {prefix}t2: leave at least one class without the cue")
    if not 0 < validation < 1:
        raise InputError(f"{prefix}validation is {validation}: it must lie between 0 and 1")
    counts = [torch.bincount(labels, minlength=len(names)).tolist() for labels in (train, test)]
    for number in sorted(first | second):
        trained, tested = counts[0][number], counts[1][number]
        if not trained or not tested:
            raise InputError(f"class '{names[number]}' has no {'test' if trained else 'training'} {one}")
        if number in second and not 0 < int(validation * trained + 0.5) < trained:
            raise InputError(
                f"{prefix}validation {validation:g} holds out {int(validation * trained + 0.5)} of {trained} training "
                f"{one if one == 'series' else one + 's'} of '{names[number]}': choose another share"
            )
    return parts


Names = tuple[
    tuple[str, ...], tuple[str, ...], tuple[str, ...]
]  # of the classes of T1, of T2, and of those with the cue


def named_phases(
    phases: Sequence[PhaseSettings], cue: Cue, parts: Names, usual: Names, names: Sequence[str], prefix: str = "stream."
) -> tuple[PhasePlan, ...]:
    """The option ``phases`` of a stream whose classes have names; ``usual``: the parts of the two phases if none are given."""
    keys = ("t1", "t2", "shortcut")
    given = [key for key, own, default in zip(keys, parts, usual, strict=True) if own != default]
    plans = []
    for plan in read_phases(phases, cue, given, section=prefix):
        classes, shortcut = (tuple(map(str, some)) for some in (plan.classes, plan.shortcut))
        class_numbers(f"{plan.place}.classes", classes, names)
        plans.append(replace(plan, classes=classes, shortcut=shortcut))
    return tuple(plans)


def class_numbers(key: str, given: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of classes given by name.

    >>> class_numbers("stream.t1", ["dog"], ["cat", "dog"])
    (1,)
    """
    known = {name: number for number, name in enumerate(names)}
    for name in given:
        if name not in known:
            raise InputError(f"{key} names '{name}', which is not a class of the data: {suggestion(name, known)}")
    if not given:
        raise InputError(f"{key} is empty: name some classes of the data")
    return tuple(known[name] for name in given)


def without_repeats(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Which inputs to keep: of equal training inputs the first, and test inputs that equal none of them.

    >>> without_repeats(torch.tensor([[1], [2], [1]]), torch.tensor([[2], [3]]))
    (tensor([ True,  True, False]), tensor([False,  True]))
    """
    seen: set[bytes] = set()
    kept = []
    for row in train.contiguous().numpy():
        content = row.tobytes()
        kept.append(content not in seen)
        seen.add(content)
    fresh = [row.tobytes() not in seen for row in test.contiguous().numpy()]
    return torch.tensor(kept, dtype=torch.bool), torch.tensor(fresh, dtype=torch.bool)


def describe_repeats(train: Tensor, test: Tensor) -> str:
    """One line about what :func:`without_repeats` leaves out.

    >>> describe_repeats(torch.tensor([True, False]), torch.tensor([True]))
    'left out as repeats of training inputs: 1 of 2 training and 0 of 1 test inputs'
    """
    left = [f"{int((~kept).sum()):,} of {len(kept):,}" for kept in (train, test)]
    return f"left out as repeats of training inputs: {left[0]} training and {left[1]} test inputs"
