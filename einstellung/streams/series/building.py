"""From labelled series to a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from einstellung.cues import Cue
from einstellung.modalities import SERIES
from einstellung.streams.by_name import describe_repeats, parts_by_name, without_repeats
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
    parts: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    cue: Cue,
    cover: str,
    *,
    validation: float,
    facts: dict[str, object],
    prefix: str = "stream.",
) -> Stream:
    """The two-phase protocol; ``parts`` names the classes of T1, of T2, and those with the cue.

    ``prefix`` stands before the names of options in messages.
    """
    train, test = (torch.from_numpy(values)[:, :, None, :] for values in (data.train, data.test))
    kept = without_repeats(train, test)
    train, test = train[kept[0]], test[kept[1]]
    labels = [
        torch.from_numpy(some)[rows] for some, rows in zip((data.train_labels, data.test_labels), kept, strict=True)
    ]
    found = parts_by_name(
        data.names, *parts, train=labels[0], test=labels[1], validation=validation, prefix=prefix, one=SERIES.words.one
    )
    used = train[torch.isin(labels[0], torch.tensor([*found["t1"], *found["t2"]]))].double()
    mean, std = used.mean(dim=(0, 2, 3)), used.std(dim=(0, 2, 3), correction=0).clamp(min=1e-6)
    every = list(range(len(data.names)))
    return two_phase(
        name,
        train=LabelledImages(train, labels[0]),
        test=LabelledImages(test, labels[1]),
        taxonomy=Taxonomy(every, data.names, data.names),
        split=Split(found["t1"], found["t2"], found["shortcut"], validation),
        cue=cue,
        cover=cover,
        modality=SERIES,
        mean=tuple(mean.tolist()),
        std=tuple(std.tolist()),
        crop_padding=0,
        flip=False,
        uneven_classes=True,
        facts={
            **facts,
            "series": f"{train.shape[1]} channels of {train.shape[-1]} samples",
            "duplicates": describe_repeats(*kept),
        },
    )
