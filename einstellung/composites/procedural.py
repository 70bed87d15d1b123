"""``procedural``: generated sources that need no files.

Targets are creatures of any colour, pose and marking with a smooth (label round) or jagged (label spiky) outline. Backgrounds are
buildings or clouds, objects are signs or plants. These also differ in colour, so they are easier to classify than the targets,
which makes them tempting shortcuts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from einstellung.composites.procedural_images import blocks, clouds, creature, plant, sign
from einstellung.composites.randomness import numpy_generator
from einstellung.composites.sources import BACKGROUND, KINDS, OBJECT, SPLITS, TARGET, Pixels, Source, SourceSet

PROCEDURAL = "procedural"
COUNTS = {"train": 630, "val": 132, "test": 132}  # per label
OBJECTS = {"train": 28, "val": 6, "test": 6}  # few, as in UrbanCars
LABELS = {TARGET: ("round", "spiky"), BACKGROUND: ("blocks", "clouds"), OBJECT: ("sign", "plant")}
_VERSION = 1  # of the images' look; part of cache keys
_PAINTERS: dict[str, tuple[Callable[[np.random.Generator], Pixels], ...]] = {
    TARGET: (partial(creature, jagged=False), partial(creature, jagged=True)),
    BACKGROUND: (blocks, clouds),
    OBJECT: (sign, plant),
}


def procedural(counts: Mapping[str, int] = COUNTS) -> SourceSet:
    """``counts`` targets and backgrounds per label, by split; an image depends only on its kind, label, split and number.

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
    return SourceSet("creatures, scenery and objects drawn here", LABELS, tuple(items))


def _source(kind: str, value: int, split: str, number: int) -> Source:
    name = f"{kind}s/{LABELS[kind][value]}/{split}-{number:05d}"
    return Source(
        name,
        kind,
        value,
        split,
        partial(_paint, kind, value, name),
        lambda: f"{PROCEDURAL} {_VERSION} {name}",
    )


def _paint(kind: str, value: int, name: str) -> Pixels:
    return _PAINTERS[kind][value](numpy_generator(_VERSION, name))
