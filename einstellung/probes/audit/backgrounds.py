"""The background, where the place of the object is known: replaced by that of another image, whose own object is inpainted.

Unlike other cues it differs between all classes, so that clean classes of the same net are no null for it. Its null is the
background of another image of the same class: the replacement leaves the same traces, but the label's own surroundings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from einstellung.cues import cover
from einstellung.probes.audit.examination import FILLINGS, LEVEL, above, positive, upper
from einstellung.probes.audit.model import Floats
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages, foreign_donors, of_the_same_class

BACKGROUND = "background"
CONSTRUCTION = "background replaced by the inpainted one of an image of another class"
_COVERS = tuple(name for name in FILLINGS if name not in ("blur", "inpaint"))  # these leave its colours


@dataclass(frozen=True)
class ExaminedBackground:
    """How much the background matters to a class.

    ``lost``: correct predictions lost, by image, and ``fall``: probability of the label, with the background of another class;
    ``same_fall``, ``same_lost``: with that of the same class. ``fillings``: what covering it costs.
    """

    label: int
    rows: Ints
    area: float
    lost: Doubles
    fall: Doubles
    same_lost: Doubles
    same_fall: Doubles
    nsc_lost: float
    nsc_fall: Doubles
    fillings: dict[str, Doubles]
    filling_falls: dict[str, Doubles]
    pull: float
    pull_null: float
    classes: int

    @property
    def _test(self) -> tuple[float, float]:
        """t of the difference to the same class's backgrounds, paired by image, and its one-sided p, over all classes."""
        difference = self.fall - self.same_fall
        if len(difference) < 2 or difference.std() == 0:
            return 0.0, 1.0
        found = stats.ttest_1samp(difference, 0.0, alternative="greater")
        return float(found.statistic), min(1.0, float(found.pvalue) * self.classes)

    @property
    def strength(self) -> float:
        return self._test[0]

    @property
    def p(self) -> float:
        return self._test[1]

    @property
    def threshold(self) -> float:
        """The t that the level needs over all classes."""
        return float(stats.t.isf(LEVEL / self.classes, max(len(self.rows) - 1, 1)))

    def beats_nsc(self) -> bool:
        return above(self.fall, self.nsc_fall)

    def beats_random(self) -> bool:
        return self.p <= LEVEL

    def beats_fillings(self) -> bool:
        return all(positive(values) for values in self.filling_falls.values())


def other_backgrounds(predicted: PredictedImages, partners: Ints) -> Tensor:
    """Every image with the background of its partner, whose object is inpainted."""
    assert predicted.objects is not None
    empty = cover("inpaint", predicted.images, predicted.objects, torch.arange(len(predicted)))
    return torch.where(predicted.objects, predicted.images, empty[torch.from_numpy(partners)])


def examine_backgrounds(predicted: PredictedImages, draws: np.random.Generator) -> list[ExaminedBackground]:
    """Every class; none where objects are not known."""
    if predicted.objects is None:
        return []
    labels, rows = predicted.labels, np.arange(len(predicted))
    donors = foreign_donors(labels, draws)
    after = predicted.model.probabilities(other_backgrounds(predicted, donors))
    same = predicted.model.probabilities(other_backgrounds(predicted, of_the_same_class(labels, draws)))
    behind = ~predicted.objects
    covered = {
        name: predicted.model.probabilities(cover(name, predicted.images, behind, torch.arange(len(predicted))))
        for name in _COVERS
    }
    gains = after[rows, labels[donors]] - predicted.before[rows, labels[donors]]
    pull = {label: float(gains[labels[donors] == label].mean()) for label in predicted.classes}
    found = []
    for label in predicted.classes:
        own, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        found.append(
            ExaminedBackground(
                label,
                own,
                float(behind[torch.from_numpy(own)].float().mean()),
                _lost(predicted, after, own),
                _fall(predicted, after, own),
                _lost(predicted, same, own),
                _fall(predicted, same, own),
                float(_lost(predicted, after, others).mean()),
                _fall(predicted, after, others),
                {name: _lost(predicted, one, own) for name, one in covered.items()},
                {name: _fall(predicted, one, own) for name, one in covered.items()},
                pull[label],
                upper([value for other, value in pull.items() if other != label]),
                len(predicted.classes),
            )
        )
    return found


def _fall(predicted: PredictedImages, after: Floats, rows: Ints) -> Doubles:
    labels = predicted.labels[rows]
    return np.asarray(predicted.before[rows, labels] - after[rows, labels], dtype=np.float64)


def _lost(predicted: PredictedImages, after: Floats, rows: Ints) -> Doubles:
    labels = predicted.labels[rows]
    right = (predicted.before[rows].argmax(axis=1) == labels) * 1.0
    return np.asarray(right - (after[rows].argmax(axis=1) == labels))
