"""A candidate on images that did not choose it: what its region is worth, and what the controls say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from einstellung.cues import cover
from einstellung.probes.audit.localised import RECIPIENTS, Candidate
from einstellung.probes.audit.transplants import Doubles, Ints, Looked, TransplantMap, foreign_donors, pulls
from einstellung.probes.audit.windows import Box, area, mask_of, overlap, pasted

FILLINGS = ("black", "mean", "noise", "blur", "inpaint")
REPLACED = "replaced"  # by the same region of an image of another class


@dataclass(frozen=True)
class NullMaps:
    """Transplants of windows of several sizes, on the images that candidates are examined on."""

    looked: Looked
    maps: Mapping[int, TransplantMap]  # by the windows' side

    def at(self, pixels: int) -> TransplantMap:
        """The map of the smallest windows that are at least as large; the largest where none is."""
        sides = sorted(self.maps)
        return self.maps[next((side for side in sides if side * side >= pixels), sides[-1])]


@dataclass(frozen=True)
class Examined:
    """What a candidate is worth on the second half of the images.

    ``pull``: what its classes gain where it is pasted; ``pulls``: by donor; ``random_pull``: the largest such gain, of any class,
    over random places. ``fall``: by filling, what the class's probability loses where it is covered, image by image;
    ``random_fall``: the largest mean loss of the class over random places; ``nsc_fall``: of images of other classes, same place.
    ``lost``: by filling, the loss of accuracy, image by image.
    """

    candidate: Candidate
    rows: Ints
    area: float
    pull: float
    by_donor: Doubles
    random_pull: float
    fall: Mapping[str, Doubles]
    random_fall: float
    nsc_fall: Doubles
    lost: Mapping[str, Doubles]

    @property
    def pull_ratio(self) -> float:
        return self.pull / max(self.random_pull, 0.02)

    @property
    def fall_ratio(self) -> float:
        return float(self.fall[REPLACED].mean()) / max(self.random_fall, 0.02)


def examine(
    null: NullMaps, candidate: Candidate, others: Sequence[Box], draws: np.random.Generator, own: Mapping[int, Box] | None = None
) -> Examined:
    """Examine a candidate. ``others``: boxes that random places must not touch; ``own``: of these images, where the cue moves."""
    looked = null.looked
    rows = np.flatnonzero(looked.labels == candidate.label)
    boxes: Box | list[Box] = candidate.box if candidate.box is not None else [(own or {})[int(row)] for row in rows]
    pixels = area(boxes) if isinstance(boxes, tuple) else round(float(np.mean([area(box) for box in boxes])))
    by_donor = pulls(looked, rows, boxes, candidate.classes, RECIPIENTS, draws).mean(axis=1)
    found = null.at(pixels)
    avoided = [*others, *([boxes] if isinstance(boxes, tuple) else [])]
    free = [place for place, window in enumerate(found.windows) if not any(overlap(window, box) for box in avoided)]
    random_pull = max(float(found.pull(looked, label, free).max()) for label in looked.classes) if free else np.inf
    random_fall = float(found.miss(looked, candidate.label)[free].max()) if free else np.inf
    fall, lost = _covered(looked, rows, boxes, draws)
    outside = np.flatnonzero(~np.isin(looked.labels, candidate.classes))
    if isinstance(boxes, tuple):
        nsc_fall, _ = _covered(looked, outside, boxes, draws, (REPLACED,))
        nsc = nsc_fall[REPLACED]
    else:
        some = [boxes[int(one)] for one in draws.integers(len(boxes), size=len(outside))]
        nsc = _covered(looked, outside, some, draws, (REPLACED,))[0][REPLACED]
    whole = looked.images.shape[-1] * looked.images.shape[-2]
    return Examined(
        candidate, rows, pixels / whole, float(by_donor.mean()), by_donor, random_pull, fall, random_fall, nsc, lost
    )


def _covered(
    looked: Looked,
    rows: Ints,
    boxes: Box | Sequence[Box],
    draws: np.random.Generator,
    fillings: Sequence[str] = (*FILLINGS, REPLACED),
) -> tuple[dict[str, Doubles], dict[str, Doubles]]:
    """By filling and image: the probability of the label lost, and whether a right answer was lost (1) or won (-1)."""
    images, labels = looked.images[torch.from_numpy(rows)], looked.labels[rows]
    index = torch.from_numpy(rows)
    region = mask_of(boxes, len(rows), *images.shape[-2:])
    own = np.arange(len(rows))
    fall, lost = {}, {}
    for filling in fillings:
        if filling == REPLACED:
            donors = foreign_donors(looked.labels, draws)[rows]
            changed = pasted(images, looked.images[torch.from_numpy(donors)], boxes)
        else:
            changed = cover(filling, images, region, index)
        after = looked.model.probabilities(changed)
        fall[filling] = np.asarray(looked.before[rows][own, labels] - after[own, labels], dtype=np.float64)
        right = (looked.before[rows].argmax(axis=1) == labels).astype(np.float64)
        lost[filling] = right - (after.argmax(axis=1) == labels)
    return fall, lost
