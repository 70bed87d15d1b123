"""``waves``: synthetic series, drawn from a seed without any download.

Twelve classes: four wave forms of three frequencies. Phase, height, drift and noise are independent of the class. A saw-tooth is
hard to tell from a triangle, a square from a sine that is cut off: T2 has one of each pair with the cue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.cues import Cue
from einstellung.errors import InputError
from einstellung.modalities import SERIES
from einstellung.randomness import seed_of
from einstellung.streams.series.building import LabelledSet, Values, series_stream
from einstellung.streams.stream import Stream, holds, streams

Floats = npt.NDArray[np.float64]

# Form of a wave over its phase in turns, 0 to 1.
FORMS: dict[str, Callable[[Floats], Floats]] = {
    "square": lambda turn: np.where(turn < 0.5, 1.0, -1.0),
    "clipped sine": lambda turn: np.clip(1.6 * np.sin(2 * np.pi * turn), -1.0, 1.0),
    "saw-tooth": lambda turn: 2 * turn - 1,
    "triangle": lambda turn: 4 * np.abs(turn - 0.5) - 1,
}
FREQUENCIES = (3, 5, 8)  # waves per series
NAMES = tuple(f"{form} {frequency}" for frequency in FREQUENCIES for form in FORMS)
USUAL = (NAMES[:8], NAMES[8:], (NAMES[8], NAMES[10]))  # T1, T2, and the cue's classes


@streams.register("waves")
@holds(SERIES)
def waves(
    cue: Cue,
    cover: str = "interpolate",
    *,
    train_per_class: int = 100,
    test_per_class: int = 50,
    length: int = 64,
    noise: float = 0.5,
    seed: int = 0,
    t1: tuple[str, ...] = USUAL[0],
    t2: tuple[str, ...] = USUAL[1],
    shortcut: tuple[str, ...] = USUAL[2],
    validation: float = 0.1,
    phases: list[dict[str, Any]] | None = None,
) -> Stream:
    """Synthetic series of twelve classes, no download; ``noise`` is relative to the waves' own height.

    ``phases``: any number of phases instead of T1 and T2 (docs/data.md).
    """
    if train_per_class < 2 or test_per_class < 1:
        raise InputError("stream.train_per_class must be at least 2 and stream.test_per_class at least 1")
    if not 16 <= length <= 4096:
        raise InputError(f"stream.length is {length}: give a number of samples from 16 to 4096")
    if not noise >= 0:
        raise InputError(f"stream.noise is {noise}: it must not be negative")
    drawn = {
        part: draw_waves(per_class, length, noise, seed, part)
        for part, per_class in (("train", train_per_class), ("test", test_per_class))
    }
    return series_stream(
        "waves",
        LabelledSet(*drawn["train"], *drawn["test"], NAMES),
        (t1, t2, shortcut),
        cue,
        cover,
        validation=validation,
        phases=phases,
        usual=USUAL,
        facts={"source": f"drawn from seed {seed}"},
    )


def draw_waves(per_class: int, length: int, noise: float, seed: int, part: str) -> tuple[Values, npt.NDArray[np.int64]]:
    """Series of all classes [N, 1, length] and their classes; ``part`` names an independent draw.

    >>> draw_waves(2, 16, 0.1, 0, "train")[0].shape
    (24, 1, 16)
    """
    draws = np.random.default_rng(seed_of(seed, "waves", part))
    labels = np.arange(len(NAMES)).repeat(per_class)
    count = len(labels)
    start, height, drift = (
        draws.random((count, 1)),
        draws.uniform(0.7, 1.3, (count, 1)),
        draws.normal(0, 0.5, (count, 1)),
    )
    along = np.arange(length) / length
    series = np.empty((count, length))
    for label, name in enumerate(NAMES):
        form, _, frequency = name.rpartition(" ")
        rows = labels == label
        series[rows] = FORMS[form]((start[rows] + int(frequency) * along) % 1)
    series = height * series + drift * (along - 0.5) + draws.normal(0, noise, (count, length))
    return series[:, None, :].astype(np.float32), labels
