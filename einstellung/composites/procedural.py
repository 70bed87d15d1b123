"""``procedural``: sources that need no files, each drawn from its number.

Targets are creatures of any colour, pose and marking, with a smooth outline (label round) or a jagged one (label spiky).
Backgrounds are buildings of blocks or drifting clouds, objects are signs or plants: these have colours of their own as well,
so that they are easier to tell apart than the targets, which makes them tempting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from einstellung.composites.chance import draws
from einstellung.composites.procedural_cut_outs import creature, plant, sign
from einstellung.composites.procedural_scenery import blocks, clouds
from einstellung.composites.sources import BACKGROUND, KINDS, OBJECT, SPLITS, TARGET, Pixels, Source, Sources

PROCEDURAL = "procedural"
COUNTS = {"train": 630, "val": 132, "test": 132}  # of each label
OBJECTS = {"train": 28, "val": 6, "test": 6}  # as few as there are kinds of things in a street
LABELS = {TARGET: ("round", "spiky"), BACKGROUND: ("blocks", "clouds"), OBJECT: ("sign", "plant")}
_VERSION = 1  # of how things look; another one is another source
_ARTISTS: dict[str, tuple[Callable[[np.random.Generator], Pixels], ...]] = {
    TARGET: (partial(creature, jagged=False), partial(creature, jagged=True)),
    BACKGROUND: (blocks, clouds),
    OBJECT: (sign, plant),
}


def procedural(counts: Mapping[str, int] = COUNTS) -> Sources:
    """So many targets and backgrounds of each label, by split; a picture depends on its kind, label, split and number alone.

    >>> len(procedural({"train": 4, "val": 2, "test": 2}).by_kind["target"])
    16
    """
    items = [
        _source(kind, value, split, number)
        for kind in KINDS
        for value in (0, 1)
        for split in SPLITS
        for number in range(OBJECTS[split] if kind == OBJECT else counts[split])
    ]
    return Sources("creatures, scenery and objects drawn here", LABELS, tuple(items))


def _source(kind: str, value: int, split: str, number: int) -> Source:
    name = f"{kind}s/{LABELS[kind][value]}/{split}-{number:05d}"
    return Source(
        name,
        kind,
        value,
        split,
        partial(_drawn, kind, value, name),
        lambda: f"{PROCEDURAL} {_VERSION} {name}",
    )


def _drawn(kind: str, value: int, name: str) -> Pixels:
    return _ARTISTS[kind][value](draws(_VERSION, name))
