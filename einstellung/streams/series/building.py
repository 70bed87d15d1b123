"""From labelled series to a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from einstellung.cues import Cue
from einstellung.modalities import SERIES
from einstellung.streams.by_name import (
    Names,
    class_numbers,
    describe_repeats,
    named_phases,
    parts_by_name,
    without_repeats,
)
from einstellung.streams.many_phases import many_phases
from einstellung.streams.phase_plan import PhaseSettings
from einstellung.streams.stream import Stream
from einstellung.streams.two_phase import LabelledImages, Split, Taxonomy, two_phase

Values = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LabelledSet:
    """Training and test series (float32 [N, C, L]) with class numbers, and the names of the classes."""

    train: Values
    train_labels: npt.NDArray[np.int64]
    test: Values
    test_labels: npt.NDArray[np.int64]
    names: tuple[str, ...]


def series_stream(
    name: str,
    data: LabelledSet,
    parts: Names,
    cue: Cue,
    cover: str,
    *,
    validation: float,
    facts: dict[str, object],
    prefix: str = "stream.",
    phases: Sequence[PhaseSettings] | None = None,
    usual: Names = ((), (), ()),
) -> Stream:
    """The two-phase protocol; ``parts`` names the classes of T1, of T2, and those with the cue. Or any number of ``phases``.

    ``prefix`` stands before the names of options in messages, ``usual`` are the parts unless others are given.
    """
    train, test = (torch.from_numpy(values)[:, :, None, :] for values in (data.train, data.test))
    kept = without_repeats(train, test)
    train, test = train[kept[0]], test[kept[1]]
    labels = [
        torch.from_numpy(some)[rows] for some, rows in zip((data.train_labels, data.test_labels), kept, strict=True)
    ]
    every = list(range(len(data.names)))
    settings: dict[str, Any] = {
        "train": LabelledImages(train, labels[0]),
        "test": LabelledImages(test, labels[1]),
        "taxonomy": Taxonomy(every, data.names, data.names),
        "cover": cover,
        "modality": SERIES,
        "crop_padding": 0,
        "flip": False,
        "uneven_classes": True,
        "facts": {
            **facts,
            "series": f"{train.shape[1]} channels of {train.shape[-1]} samples",
            "duplicates": describe_repeats(*kept),
        },
    }
    if phases is not None:
        plans = named_phases(phases, cue, parts, usual, data.names, prefix)
        used = class_numbers(f"{prefix}phases", [str(one) for plan in plans for one in plan.classes], data.names)
        return many_phases(name, plans, validation=validation, **settings, **scale(train, labels[0], used))
    found = parts_by_name(
        data.names, *parts, train=labels[0], test=labels[1], validation=validation, prefix=prefix, one=SERIES.words.one
    )
    split = Split(found["t1"], found["t2"], found["shortcut"], validation)
    used = (*found["t1"], *found["t2"])
    return two_phase(name, split=split, cue=cue, **settings, **scale(train, labels[0], used))


def scale(series: Tensor, labels: Tensor, used: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Mean and standard deviation of every channel, over the series of the classes in use."""
    some = series[torch.isin(labels, torch.tensor(list(used)))].double()
    mean, std = some.mean(dim=(0, 2, 3)), some.std(dim=(0, 2, 3), correction=0).clamp(min=1e-6)
    return {"mean": tuple(mean.tolist()), "std": tuple(std.tolist())}
