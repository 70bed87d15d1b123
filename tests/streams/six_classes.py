"""A source of six fine classes in three superclasses, and the stream that is built from it."""

from __future__ import annotations

import torch

from einstellung.cues import PatchCue
from einstellung.streams import Stream
from einstellung.streams.duplicates import Duplicates
from einstellung.streams.two_phase import LabelledImages, Split, Taxonomy, two_phase

# A source of six fine classes in three superclasses: the fine ids are not in the order of the superclasses.
SUPERCLASS_OF = [2, 0, 1, 0, 1, 2]
FINE_NAMES, SUPERCLASS_NAMES = ["oak", "cat", "bus", "dog", "car", "elm"], ["pets", "vehicles", "trees"]
CUE = PatchCue(size=2)


def noise(per_class: int, seed: int) -> LabelledImages:
    draws = torch.Generator().manual_seed(seed)
    fine = torch.arange(6).repeat(per_class)
    images = torch.randint(0, 256, (len(fine), 3, 8, 8), dtype=torch.uint8, generator=draws)
    return LabelledImages(images, fine)


def build(
    train: LabelledImages, test: LabelledImages, cue: PatchCue, known: Duplicates | None = None, **split
) -> Stream:
    chosen = Split(t1=(1,), t2=(2, 0), shortcut=(2,), **split)
    return two_phase(
        "six",
        train=train,
        test=test,
        taxonomy=Taxonomy(SUPERCLASS_OF, FINE_NAMES, SUPERCLASS_NAMES),
        split=chosen,
        cue=cue,
        cover="noise",
        mean=(0.5,) * 3,
        std=(0.2,) * 3,
        crop_padding=1,
        duplicates=known,
    )
