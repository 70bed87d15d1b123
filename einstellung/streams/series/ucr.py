"""``ucr``: the two-phase protocol on a data set of the UCR archive, read from the user's copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.modalities import SERIES
from einstellung.sources.ucr import load_ucr
from einstellung.streams.series.building import LabelledSet, series_stream
from einstellung.streams.stream import Stream, holds, streams


@streams.register("ucr")
@holds(SERIES)
def ucr(
    cue: Cue,
    cover: str = "interpolate",
    *,
    dataset: str = "Crop",
    path: str = "",
    t1: tuple[str, ...] = (),
    t2: tuple[str, ...] = (),
    shortcut: tuple[str, ...] = (),
    validation: float = 0.1,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """A data set of the UCR archive by name; 'einstellung data check ucr' lists those that are found.

    Classes are named as in the files. Unless given, T1 has the first two thirds of them, T2 the rest, and the cue is on every
    second class of T2. ``phases``: any number of phases instead (docs/data.md).
    """
    source = load_ucr(dataset, Path(path).expanduser() if path else None)
    names = source.label_names
    if len(names) < 3:
        raise InputError(f"'{dataset}' has {len(names)} classes: two phases need at least 3, one of T1 and two of T2")
    first = min(round(2 * len(names) / 3), len(names) - 2)
    if phases is None:
        t1 = t1 or tuple(name for name in names[:first] if name not in t2)
        t2 = t2 or tuple(name for name in names if name not in t1)
        shortcut = shortcut or t2[: 2 * (len(t2) // 2) : 2]
    return series_stream(
        "ucr",
        LabelledSet(source.train.series, source.train.labels, source.test.series, source.test.labels, names),
        (t1, t2, shortcut),
        cue,
        cover,
        validation=validation,
        phases=phases,
        facts={"source": f"{dataset} of the UCR archive"},
    )
