"""A cue that is in the pictures already (a watermark, a logo): nothing is painted, its boxes are covered in evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from einstellung.cues import cover
from einstellung.streams.planted import HeadClasses, TwoPhaseImages
from einstellung.streams.stream import EvaluationSplit, ImageSet, MaskedPair, Phase, Stream

Box = tuple[int, int, int, int]


class BoxedCue:
    """Where the cue is, by the image's identity: boxes (top, left, height, width) of images that are all of one size.

    >>> cue = BoxedCue({7: (0, 1, 1, 2)})
    >>> cue.region(torch.tensor([7, 8]), 2, 3)[:, 0].int().tolist()
    [[[0, 1, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]
    """

    share = 1.0

    def __init__(self, boxes: Mapping[int, Box]) -> None:
        self.boxes = dict(boxes)

    def __repr__(self) -> str:
        return f"in the pictures already, at {len(self.boxes)} given boxes; nothing is painted"

    def paint(self, images: Tensor, index: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The pictures as they are."""
        return images.clone()

    def region(self, index: Tensor, height: int, width: int) -> Tensor:
        """The boxes: bool [N, 1, H, W]; nothing where an image has none."""
        where = torch.zeros(len(index), 1, height, width, dtype=torch.bool)
        for number, identity in enumerate(index.tolist()):
            if identity in self.boxes:
                top, left, high, wide = self.boxes[identity]
                where[number, :, top : top + high, left : left + wide] = True
        return where

    def elsewhere(self) -> BoxedCue:
        """Itself: what was photographed cannot be moved."""
        return self


def scaled_box(box: Box, height: int, width: int, size: int) -> Box:
    """A box of a picture of ``height`` x ``width`` in the same picture at ``size`` x ``size``: every pixel that it touches.

    >>> scaled_box((10, 0, 10, 25), height=100, width=50, size=8)
    (0, 0, 2, 4)
    """
    top, left, high, wide = box
    first_row, first_col = top * size // height, left * size // width
    last_row, last_col = -(-(top + high) * size // height), -(-(left + wide) * size // width)
    return first_row, first_col, last_row - first_row, last_col - first_col


def boxed(
    name: str,
    images: TwoPhaseImages,
    classes: HeadClasses,
    cue: BoxedCue,
    cover_name: str,
    facts: Mapping[str, object],
    **settings: Any,
) -> Stream:
    """The stream as it comes, and the cue classes' test images a second time with their boxes covered."""
    sc = images.sc_test
    region = cue.region(sc.index, *sc.images.shape[-2:])
    masked = ImageSet(cover(cover_name, sc.images, region, sc.index), sc.labels, sc.index, sc.has_cue)
    return Stream(
        name=name,
        phases=(
            Phase("T1", classes.t1, (), images.t1_train),
            Phase("T2", classes.t2, classes.sc, images.t2_train, ("cue",)),
        ),
        splits=(
            EvaluationSplit("T1_all", "T1", images.t1_test),
            EvaluationSplit("T2_shortcut_normal", "T2", sc),
            EvaluationSplit("T2_shortcut_masked", "T2", masked),
            EvaluationSplit("T2_nonshortcut_normal", "T2", images.nsc_test),
            EvaluationSplit("T2_val", "T2", images.t2_val, held_out=True),
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
