"""A candidate on images that did not choose it: what its region is worth, and what the controls say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats

from einstellung.cues import cover
from einstellung.probes.audit.localised import RECIPIENTS, Candidate
from einstellung.probes.audit.transplants import Doubles, Ints, Looked, TransplantMap, pulls
from einstellung.probes.audit.windows import Box, area, mask_of, overlap

FILLINGS = ("black", "mean", "noise", "blur", "inpaint")
LEVEL = 0.05
RANDOM_PLACES = 3  # masks of equal area per image
SMALLEST_PULL = (
    0.02  # random places of a net that is sure of itself pull next to nothing; a ratio to nothing means nothing
)
MOST_NSC = 150  # images of other classes that carry a control
OPAQUE = ("black", "mean", "noise")  # quick to paint, and nothing of the region shines through


@dataclass(frozen=True)
class Examined:
    """What a candidate is worth on images that did not choose it.

    ``rows``: images of the class; ``boxes``: where the region is, one for all or one each. ``by_donor``: what the classes gain
    where each image's region is pasted into others; ``null_pull``: that of random places in other classes (see :func:`upper`).
    ``lost``: by filling and image, right answers lost (1) or won (-1) with the region covered. Controls have more images where
    the place was chosen by other means than what they measure: all of the class. ``fall``: by filling and image, the probability
    of the label that is lost; ``random_fall``: at random places; ``nsc_fall``: at the same place in images of other classes.
    """

    candidate: Candidate
    rows: Ints
    boxes: Box | list[Box]
    area: float
    by_donor: Doubles
    null_pull: float
    fall: Mapping[str, Doubles]
    lost: Mapping[str, Doubles]
    random_fall: Doubles
    random_lost: float
    nsc_fall: Doubles
    nsc_lost: float

    @property
    def pull(self) -> float:
        return float(self.by_donor.mean())

    @property
    def strength(self) -> float:
        """The pull in units of what random places do; see ``null.yaml`` for what clean nets reach."""
        return self.pull / max(self.null_pull, SMALLEST_PULL)

    def beats_nsc(self) -> bool:
        return above(_mean_fall(self.fall), self.nsc_fall)

    def beats_random(self) -> bool:
        return positive(_mean_fall(self.fall) - self.random_fall)

    def beats_fillings(self) -> bool:
        """Whether covering costs the class something with all fillings but one: blur leaves the colour of a large region."""
        return sum(positive(self.fall[name]) for name in FILLINGS) >= len(FILLINGS) - 1


def _mean_fall(fall: Mapping[str, Doubles]) -> Doubles:
    """By image, the mean over the fillings that leave nothing of a region."""
    return np.asarray(np.mean([fall[name] for name in OPAQUE], axis=0), dtype=np.float64)


def upper(values: Sequence[float]) -> float:
    """The second largest of the classes' own maxima, so that one other class with a cue does not hide this one.

    Of fewer than four classes, the largest.

    >>> upper([0.1, 0.2, 0.9, 0.3]), upper([0.1, 0.2])
    (0.3, 0.2)
    """
    ordered = sorted(values)
    return ordered[-2] if len(ordered) >= 4 else ordered[-1]


def examine(
    looked: Looked, found: TransplantMap, everything: Looked, candidate: Candidate, draws: np.random.Generator
) -> Examined:
    """Examine a fixed box on the judged half, against its map; controls on ``everything``."""
    assert candidate.box is not None
    box = candidate.box
    rows = np.flatnonzero(looked.labels == candidate.label)
    by_donor = pulls(looked, rows, box, candidate.classes, RECIPIENTS, draws).mean(axis=1)
    free = [place for place, window in enumerate(found.windows) if not overlap(window, box)] or list(
        range(len(found.windows))
    )
    others = [label for label in looked.classes if label not in candidate.classes]
    null_pull = upper([float(found.pull(looked, label, free).max()) for label in others])
    _, lost = covered(looked, rows, box)
    all_rows = np.flatnonzero(everything.labels == candidate.label)
    fall, _ = covered(everything, all_rows, box)
    places = [
        covered(everything, all_rows, _free_boxes(box, looked, len(all_rows), draws), OPAQUE)
        for _ in range(RANDOM_PLACES)
    ]
    outside = _at_most(np.flatnonzero(~np.isin(everything.labels, candidate.classes)), draws)
    nsc_fall, nsc_lost = covered(everything, outside, box, OPAQUE)
    whole = looked.images.shape[-1] * looked.images.shape[-2]
    return Examined(
        candidate,
        rows,
        box,
        area(box) / whole,
        by_donor,
        null_pull,
        fall,
        lost,
        np.mean([_mean_fall(one[0]) for one in places], axis=0),
        float(np.mean([one[1]["black"].mean() for one in places])),
        _mean_fall(nsc_fall),
        float(nsc_lost["black"].mean()),
    )


def _at_most(rows: Ints, draws: np.random.Generator) -> Ints:
    return rows if len(rows) <= MOST_NSC else np.sort(draws.choice(rows, MOST_NSC, replace=False))


def _free_boxes(box: Box, looked: Looked, count: int, draws: np.random.Generator) -> list[Box]:
    """Boxes of the same shape at random places that do not touch the box, where the image has any."""
    height, width = looked.images.shape[-2:]
    tall, wide = box[2:]
    tops, lefts = (
        draws.integers(0, length - side + 1, size=20 * count) for length, side in ((height, tall), (width, wide))
    )
    tried = [(int(top), int(left), tall, wide) for top, left in zip(tops, lefts, strict=True)]
    free = [one for one in tried if not overlap(one, box)]
    return (free or tried)[:count] if len(free or tried) >= count else (tried[:count])


def examine_moving(looked: Looked, boxes: Sequence[Box], draws: np.random.Generator) -> list[Examined]:
    """Every class with the window of each of its images that pulls most: a cue that moves is steady in other recipients.

    The classes are each other's null.
    """
    gained = {}
    for label in looked.classes:
        rows = np.flatnonzero(looked.labels == label)
        gained[label] = pulls(looked, rows, [boxes[int(row)] for row in rows], (label,), RECIPIENTS, draws).mean(axis=1)
    whole = looked.images.shape[-1] * looked.images.shape[-2]
    result = []
    for label in looked.classes:
        rows = np.flatnonzero(looked.labels == label)
        own = [boxes[int(row)] for row in rows]
        others = [float(values.mean()) for other, values in gained.items() if other != label]
        fall, lost = covered(looked, rows, own)
        outside = _at_most(np.flatnonzero(looked.labels != label), draws)
        there = [boxes[int(row)] for row in outside]  # where an image of another class has its own most telling window
        nsc_fall, nsc_lost = covered(looked, outside, there, OPAQUE)
        elsewhere = [own[int(place)] for place in draws.permutation(len(own))]
        random_fall, random_lost = covered(looked, rows, elsewhere, OPAQUE)
        result.append(
            Examined(
                Candidate(label, None, (label,)),
                rows,
                own,
                float(np.mean([area(box) for box in own])) / whole,
                gained[label],
                upper(others),
                fall,
                lost,
                _mean_fall(random_fall),
                float(random_lost["black"].mean()),
                _mean_fall(nsc_fall),
                float(nsc_lost["black"].mean()),
            )
        )
    return result


def positive(values: Doubles) -> bool:
    """Whether the mean is above 0: one-sided t test at 5 %."""
    if len(values) < 2 or values.std() == 0:
        return bool(values.mean() > 0) and len(values) > 1
    return bool(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue <= LEVEL)


def above(one: Doubles, other: Doubles) -> bool:
    """Whether the first mean is above the second: Welch's one-sided t test at 5 %."""
    if len(one) < 2 or len(other) < 2 or (one.std() == 0 and other.std() == 0):
        return bool(one.mean() > other.mean())
    return bool(stats.ttest_ind(one, other, equal_var=False, alternative="greater").pvalue <= LEVEL)


def covered(
    looked: Looked,
    rows: Ints,
    boxes: Box | Sequence[Box],
    fillings: Sequence[str] = FILLINGS,
) -> tuple[dict[str, Doubles], dict[str, Doubles]]:
    """By filling and image: the probability of the label lost, and whether a right answer was lost (1) or won (-1)."""
    images, labels = looked.images[torch.from_numpy(rows)], looked.labels[rows]
    index = torch.from_numpy(rows)
    region = mask_of(boxes, len(rows), *images.shape[-2:])
    own = np.arange(len(rows))
    fall, lost = {}, {}
    for filling in fillings:
        changed = cover(filling, images, region, index)
        after = looked.model.probabilities(changed)
        fall[filling] = np.asarray(looked.before[rows][own, labels] - after[own, labels], dtype=np.float64)
        right = (looked.before[rows].argmax(axis=1) == labels).astype(np.float64)
        lost[filling] = right - (after.argmax(axis=1) == labels)
    return fall, lost
