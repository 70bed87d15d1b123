"""Evaluate a candidate on held-out images: how much its region matters, compared with controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats

from einstellung.cues import cover
from einstellung.probes.audit.localised import RECIPIENTS, Candidate
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages, TransplantMap, pulls
from einstellung.probes.audit.windows import Box, area, mask_of, overlap

FILLINGS = ("black", "mean", "noise", "blur", "inpaint")
LEVEL = 0.05
RANDOM_PLACES = 3  # masks of equal area per image
SMALLEST_PULL = 0.05  # lower bound of the denominator: random places of a confident net pull almost nothing
MOST_NSC = 150  # images of other classes that carry a control
OPAQUE = ("black", "mean", "noise")  # cheap, and nothing of the region remains visible


@dataclass(frozen=True)
class Examined:
    """How much a candidate matters on held-out images.

    ``rows``: images of the class; ``boxes``: where the region is, one for all or one each. ``by_donor``: what the classes gain
    where each image's region is pasted into others; ``null_pull``: that of random places in other classes (see :func:`upper`).
    ``lost``: by filling and image, correct predictions lost (1) or gained (-1) with the region covered. Controls use all images
    of the class where the place was not selected by what they measure. ``fall``: by filling and image, the probability
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
        """The pull relative to that of random places; ``null.yaml`` has the values of clean nets."""
        return self.pull / max(self.null_pull, SMALLEST_PULL)

    def beats_nsc(self) -> bool:
        return above(_mean_fall(self.fall), self.nsc_fall)

    def beats_random(self) -> bool:
        return positive(_mean_fall(self.fall) - self.random_fall)

    def beats_fillings(self) -> bool:
        return beats_fillings(self.fall)


def beats_fillings(fall: Mapping[str, Doubles]) -> bool:
    """Whether covering costs the class something with all fillings but one: blur leaves the colour of a large region."""
    return sum(positive(fall[name]) for name in FILLINGS) >= len(FILLINGS) - 1


def _mean_fall(fall: Mapping[str, Doubles]) -> Doubles:
    """By image, the mean over the opaque fillings."""
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
    predicted: PredictedImages,
    found: TransplantMap,
    everything: PredictedImages,
    candidate: Candidate,
    draws: np.random.Generator,
) -> Examined:
    """Evaluate a fixed box on the held-out half, against its map; controls on ``everything``."""
    assert candidate.box is not None
    box = candidate.box
    rows = np.flatnonzero(predicted.labels == candidate.label)
    by_donor = pulls(predicted, rows, box, candidate.classes, RECIPIENTS, draws).mean(axis=1)
    free = [place for place, window in enumerate(found.windows) if not overlap(window, box)] or list(
        range(len(found.windows))
    )
    others = [label for label in predicted.classes if label not in candidate.classes]
    null_pull = upper([float(found.pull(predicted, label, free).max()) for label in others])
    _, lost = covered(predicted, rows, box)
    all_rows = np.flatnonzero(everything.labels == candidate.label)
    fall, _ = covered(everything, all_rows, box)
    places = [
        covered(everything, all_rows, _free_boxes(box, predicted, len(all_rows), draws), OPAQUE)
        for _ in range(RANDOM_PLACES)
    ]
    outside = _at_most(np.flatnonzero(~np.isin(everything.labels, candidate.classes)), draws)
    nsc_fall, nsc_lost = covered(everything, outside, box, OPAQUE)
    whole = predicted.images.shape[-1] * predicted.images.shape[-2]
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


def _free_boxes(box: Box, predicted: PredictedImages, count: int, draws: np.random.Generator) -> list[Box]:
    """Boxes of the same shape at random places that do not touch the box, where the image has any."""
    height, width = predicted.images.shape[-2:]
    tall, wide = box[2:]
    tops, lefts = (
        draws.integers(0, length - side + 1, size=20 * count) for length, side in ((height, tall), (width, wide))
    )
    tried = [(int(top), int(left), tall, wide) for top, left in zip(tops, lefts, strict=True)]
    free = [one for one in tried if not overlap(one, box)]
    return (free or tried)[:count] if len(free or tried) >= count else (tried[:count])


def examine_moving(predicted: PredictedImages, boxes: Sequence[Box], draws: np.random.Generator) -> list[Examined]:
    """Every class, with the strongest window of each of its images: a moving cue also pulls in other recipients.

    Each class is tested against the others as its null.
    """
    gained = {}
    for label in predicted.classes:
        rows = np.flatnonzero(predicted.labels == label)
        gained[label] = pulls(predicted, rows, [boxes[int(row)] for row in rows], (label,), RECIPIENTS, draws).mean(
            axis=1
        )
    whole = predicted.images.shape[-1] * predicted.images.shape[-2]
    result = []
    for label in predicted.classes:
        rows = np.flatnonzero(predicted.labels == label)
        own = [boxes[int(row)] for row in rows]
        others = [float(values.mean()) for other, values in gained.items() if other != label]
        fall, lost = covered(predicted, rows, own)
        outside = _at_most(np.flatnonzero(predicted.labels != label), draws)
        there = [boxes[int(row)] for row in outside]  # the strongest window of each image of another class
        nsc_fall, nsc_lost = covered(predicted, outside, there, OPAQUE)
        elsewhere = [own[int(place)] for place in draws.permutation(len(own))]
        random_fall, random_lost = covered(predicted, rows, elsewhere, OPAQUE)
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
    predicted: PredictedImages,
    rows: Ints,
    boxes: Box | Sequence[Box],
    fillings: Sequence[str] = FILLINGS,
) -> tuple[dict[str, Doubles], dict[str, Doubles]]:
    """By filling and image: the label's lost probability, and whether a correct prediction was lost (1) or gained (-1)."""
    images, labels = predicted.images[torch.from_numpy(rows)], predicted.labels[rows]
    index = torch.from_numpy(rows)
    region = mask_of(boxes, len(rows), *images.shape[-2:])
    own = np.arange(len(rows))
    fall, lost = {}, {}
    for filling in fillings:
        changed = cover(filling, images, region, index)
        after = predicted.model.probabilities(changed)
        fall[filling] = np.asarray(predicted.before[rows][own, labels] - after[own, labels], dtype=np.float64)
        right = (predicted.before[rows].argmax(axis=1) == labels).astype(np.float64)
        lost[filling] = right - (after.argmax(axis=1) == labels)
    return fall, lost
