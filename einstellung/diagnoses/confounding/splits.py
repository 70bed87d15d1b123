"""The splits of a study of confounded tasks: which there are, and what their names say.

Of every task: ``T1_train`` (a fixed sample of its training images), ``T1_val``, ``T1_positive`` and ``T1_negative`` (its test
images by label), ``T1_positive_twin`` (positives with the confounder taken away), ``T1_negative_twin`` (negatives with it put
in), ``T1_positive_paired`` and ``T1_negative_paired`` (the very images that have a twin). Of no task: ``unconfounded_positive``
and ``unconfounded_negative``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from einstellung.errors import InputError
from einstellung.timeline import Timeline

UNCONFOUNDED = "unconfounded"
LABELS = ("positive", "negative")
_OF_TASK = re.compile(r"T([1-9]\d*)_(train|val|(?:positive|negative)(?:_paired|_twin)?)")
_MEANINGS = {
    "train": "a fixed sample of the training images of task {task}",
    "val": "held out from task {task}",
    "positive": "test images of task {task} in which the ground truth holds",
    "negative": "test images of task {task} in which it does not",
    "positive_paired": "the positives of task {task} that have a twin",
    "positive_twin": "the same scenes with the confounder removed",
    "negative_paired": "the negatives of task {task} that have a twin",
    "negative_twin": "the same scenes with the confounder added",
}
_WITHOUT_TASK = {
    f"{UNCONFOUNDED}_positive": "test images in which the ground truth holds, with or without confounders",
    f"{UNCONFOUNDED}_negative": "test images in which it does not, with or without confounders",
}


def has_confounded_tasks(splits: Iterable[str]) -> bool:
    """Whether these splits are measured in studies of confounded tasks.

    >>> has_confounded_tasks(["T1_val", "T1_positive"]), has_confounded_tasks(["T1_all", "T2_val"])
    (True, False)
    """
    return bool({"T1_positive", f"{UNCONFOUNDED}_positive"} & set(splits))


def tasks_of(timeline: Timeline) -> tuple[str, ...]:
    """The tasks by name, from the phases and splits that there are; a task between two others is never left out."""
    numbers = [int(match[1]) for split in timeline.splits if (match := _OF_TASK.fullmatch(split))]
    for phase in timeline.phase_names:
        if not re.fullmatch(r"T\d+", phase):
            raise InputError(f"the phase '{phase}' is no confounded task: tasks are T1, T2, ...")
        numbers.append(int(phase[1:]))
    return tuple(f"T{number}" for number in range(1, max(numbers, default=0) + 1))


def describe_split(split: str) -> str | None:
    """What a split holds, in words; None for an unknown name.

    >>> describe_split("T2_negative_twin"), describe_split("T2_neg")
    ('the same scenes with the confounder added', None)
    """
    if match := _OF_TASK.fullmatch(split):
        return _MEANINGS[match[2]].format(task=f"T{match[1]}")
    return _WITHOUT_TASK.get(split)


def split_order(split: str) -> tuple[int, int]:
    """What splits are sorted by: task, those of no task after them, unknown ones last.

    >>> sorted(["mine", "unconfounded_negative", "T2_val", "T1_negative"], key=split_order)
    ['T1_negative', 'T2_val', 'unconfounded_negative', 'mine']
    """
    if match := _OF_TASK.fullmatch(split):
        return int(match[1]), list(_MEANINGS).index(match[2])
    aside = list(_WITHOUT_TASK)
    return (10**9, aside.index(split)) if split in aside else (10**9, len(aside))
