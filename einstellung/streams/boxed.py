"""A cue that is part of the original images (a watermark, a logo): nothing is painted; evaluation covers its boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.cues import Cue, cover
from einstellung.sources.geometry import Box
from einstellung.streams.planted import HeadClasses, TwoPhaseImages
from einstellung.streams.stream import EvaluationSplit, ImageSet, MaskedPair, Phase, Stream


class BoxedCue:
    """The cue's box (top, left, height, width) per image index, for images of one size.

    >>> cue = BoxedCue({7: (0, 1, 1, 2)})
    >>> cue.region(torch.tensor([7, 8]), 2, 3)[:, 0].int().tolist()
    [[[0, 1, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]
    """

    share = 1.0

    def __init__(self, boxes: Mapping[int, Box]) -> None:
        self.boxes = dict(boxes)

    def __repr__(self) -> str:
        return f"part of the images, at {len(self.boxes)} given boxes; nothing is painted"

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The images unchanged."""
        return images.clone()

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        """The boxes as bool [N, 1, H, W]; all False for an image without one."""
        where = torch.zeros(len(index), 1, height, width, dtype=torch.bool)
        for row, image in enumerate(index.tolist()):
            if image in self.boxes:
                top, left, box_height, box_width = self.boxes[image]
                where[row, :, top : top + box_height, left : left + box_width] = True
        return where

    def elsewhere(self) -> BoxedCue:
        """Itself: a cue in the original image cannot be moved."""
        return self


class MarkedCue:
    """The cue's places per input: bool [N, H, W] for the inputs of ``index``; what it is in words, for the report."""

    share = 1.0

    def __init__(self, index: Tensor, where: Tensor, what: str) -> None:
        self.where, self.what = where, what
        self._row = torch.full((int(index.max()) + 1,), -1)
        self._row[index] = torch.arange(len(index))

    def __repr__(self) -> str:
        return f"part of the inputs: {self.what}; nothing is painted"

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The inputs unchanged."""
        return images.clone()

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        return self.where[self._row[index]].unsqueeze(1)

    def has(self, index: Tensor) -> Tensor:
        """Which inputs have the cue at all."""
        return self.where[self._row[index]].flatten(1).any(dim=1)

    def elsewhere(self) -> MarkedCue:
        """Itself: a cue in the original input cannot be moved."""
        return self


def boxed_stream(
    name: str,
    images: TwoPhaseImages,
    classes: HeadClasses,
    cue: BoxedCue | MarkedCue,
    cover_name: str,
    facts: Mapping[str, object],
    **settings: Any,
) -> Stream:
    """The stream with the images as they are, plus a split of the cue classes' test images with their boxes covered."""
    return Stream(
        name=name,
        phases=(
            Phase("T1", classes.t1, (), images.t1_train),
            Phase("T2", classes.t2, classes.sc, images.t2_train, ("cue",)),
        ),
        splits=(
            EvaluationSplit("T1_all", "T1", images.t1_test),
            *boxed_splits("T2", cue, cover_name, images.t2_val, images.sc_test, images.nsc_test),
        ),
        pairs=(MaskedPair("T2_shortcut_normal", "T2_shortcut_normal", "T2_shortcut_masked"),),
        cue=cue,
        cover=cover_name,
        n_outputs=len(classes.names),
        class_names=classes.names,
        facts=dict(facts),
        cue_names=("cue",),
        **settings,
    )


def boxed_splits(
    phase: str, cue: Cue, cover_name: str, val: ImageSet, sc: ImageSet, nsc: ImageSet
) -> list[EvaluationSplit]:
    """The splits of a phase whose images have the cue already: as they are, and with the cue covered."""
    region = cue.region(sc.index, *sc.images.shape[-2:])
    masked = ImageSet(cover(cover_name, sc.images, region, sc.index), sc.labels, sc.index, sc.has_cue)
    return [
        EvaluationSplit(f"{phase}_shortcut_normal", phase, sc),
        EvaluationSplit(f"{phase}_shortcut_masked", phase, masked),
        EvaluationSplit(f"{phase}_nonshortcut_normal", phase, nsc),
        EvaluationSplit(f"{phase}_val", phase, val, held_out=True),
    ]
