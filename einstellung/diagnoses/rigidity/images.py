"""What the cue does to single images: where it must stand to help, and whether it pulls foreign images to its classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.diagnoses.rigidity.checks import Run
from einstellung.metrics.image_pairs import ImagePairs, IntArray, Predictions, matching, of_split
from einstellung.metrics.statistics import Summary, holm, mcnemar_exact, summarise_all
from einstellung.timeline import NSC, NSC_PATCHED, SC_CLEAN, SC_ELSEWHERE, SC_MASK, SC_PATCH

PLACEMENTS = {"SC_patch": SC_PATCH, "SC_elsewhere": SC_ELSEWHERE, "SC_mask": SC_MASK, "SC_clean": SC_CLEAN}
PULL = ("NSC_called_SC", "NSC_patched_called_SC", "pull")


def macro_accuracy(label: npt.ArrayLike, prediction: npt.ArrayLike) -> float:
    r"""The mean over classes of the share of right answers.

    .. math:: A = \frac1{|C|} \sum_{c \in C} \frac1{n_c} \sum_{i: y_i = c} [\hat y_i = y_i]

    >>> macro_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    right = pd.Series(np.asarray(prediction) == np.asarray(label))
    return float(right.groupby(np.asarray(label)).mean().mean())


@dataclass(frozen=True)
class Pull:
    """NSC images that are called a shortcut class without the cue and with it, and McNemar's test of the difference."""

    n: int
    without_cue: float
    with_cue: float
    only_without: int
    only_with: int
    p: float
    p_holm: float | None = None

    @property
    def difference(self) -> float:
        return self.with_cue - self.without_cue

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference}


def pull(pairs: ImagePairs, shortcut_classes: IntArray) -> Pull:
    r"""Does the cue pull images of other classes to the classes that own it?

    .. math:: pull = \frac1n \sum_i [\hat y_i^{cue} \in C_{patch}] - \frac1n \sum_i [\hat y_i \in C_{patch}]

    over the NSC test images; p: exact McNemar test on 'is called a shortcut class'.

    >>> said = pull(ImagePairs(np.full(4, 5), np.array([5, 5, 5, 1]), np.array([0, 1, 5, 1])), np.array([0, 1]))
    >>> said.without_cue, said.with_cue, said.difference, said.only_with, said.p
    (0.25, 0.75, 0.5, 2, 0.5)
    """
    before, after = np.isin(pairs.first, shortcut_classes), np.isin(pairs.second, shortcut_classes)
    test = mcnemar_exact(before, after)
    return Pull(test.n, float(before.mean()), float(after.mean()), test.only_first, test.only_second, test.p)


@dataclass(frozen=True)
class CueEffect:
    """One run: accuracy on the SC images by where the cue is, and the pull on NSC images; None where not stored."""

    accuracy: Mapping[str, float | None]
    pull: Pull | None

    def value(self, key: str) -> float | None:
        if key in self.accuracy or self.pull is None:
            return self.accuracy.get(key)
        named = zip(PULL, (self.pull.without_cue, self.pull.with_cue, self.pull.difference), strict=True)
        return dict(named)[key]

    def to_dict(self) -> dict[str, Any]:
        values = {key: self.value(key) for key in (*PLACEMENTS, *PULL)}
        return {**values, "pull_test": self.pull.to_dict() if self.pull is not None else None}


def cue_effect(frame: pd.DataFrame) -> CueEffect | None:
    """Read one run's predictions. The shortcut classes are the labels of the SC split; None where it was not stored."""
    patched = of_split(frame, SC_PATCH)
    if patched is None:
        return None
    accuracy: dict[str, float | None] = {"SC_patch": macro_accuracy(patched["label"], patched["prediction"])}
    for key, split in list(PLACEMENTS.items())[1:]:
        pairs = matching(frame, SC_PATCH, split)
        accuracy[key] = None if pairs is None else macro_accuracy(pairs.label, pairs.second)
    foreign = matching(frame, NSC, NSC_PATCHED)
    own = np.unique(patched["label"].to_numpy(dtype=np.int64))
    return CueEffect(accuracy, None if foreign is None else pull(foreign, own))


def cue_effect_of_runs(predictions: Predictions) -> dict[Run, CueEffect]:
    """:func:`cue_effect` of every run that has one; the tests of the pull are corrected by Holm over all of them."""
    found = {run: effect for run, frame in predictions.items() if (effect := cue_effect(frame)) is not None}
    corrected = holm([effect.pull.p if effect.pull is not None else None for effect in found.values()])
    return {
        run: effect if effect.pull is None else replace(effect, pull=replace(effect.pull, p_holm=p))
        for (run, effect), p in zip(found.items(), corrected, strict=True)
    }


def over_seeds(effects: Mapping[int, CueEffect]) -> dict[str, Summary]:
    """Mean, deviation and interval over one method's seeds."""
    return summarise_all({key: [effect.value(key) for effect in effects.values()] for key in (*PLACEMENTS, *PULL)})
