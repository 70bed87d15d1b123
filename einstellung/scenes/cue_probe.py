"""How well positions, counts and visible areas of objects predict the label, without their attributes.

A linear classifier (ridge regression on the labels) reads features that do not depend on the order of the objects, and is scored
by cross-validation: accuracy, and area under the ROC curve. The null distribution is that of the same probe on shuffled labels,
of the largest AUC over all tasks and cues, so that a clean set raises an alarm in :data:`LEVEL` of all cases, however many probes
it gets.

Areas follow from the sizes and shapes that the rules require. They are also compared with freshly drawn scenes, as are
positions where the rules mention places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import rankdata

from einstellung.scenes.rendering import REFERENCE, least_visible, object_masks, visible_pixels
from einstellung.scenes.rendering.geometry import CAMERA, views
from einstellung.scenes.scene import Floats, Scenes

LEVEL = 0.01
POSITIONS, COUNTS, AREAS = "positions", "counts", "areas"
_SHUFFLES = 499
_FOLDS = 5
_RIDGE = 1.0
_MOST = 3000  # scenes per class and task
_SEED = 20_240_208

Labels = npt.NDArray[np.int64]
Features = Mapping[str, Floats]


@dataclass(frozen=True)
class LabelledFeatures:
    """Features [N, F] by cue, and the labels of the same scenes."""

    features: Features
    labels: Labels


@dataclass(frozen=True)
class CueProbe:
    """How well a cue alone predicts the label of a task.

    ``null_auc``: exceeded by the largest AUC of all probes in a share :data:`LEVEL` of shuffles of the labels; ``p_value``: the
    share of shuffles whose largest AUC is as far from chance. ``expected_auc``: in freshly drawn scenes, only for cues that the
    rules explain. ``found``: whether the cue predicts the label better than it should.
    """

    task: int
    cue: str
    accuracy: float
    auc: float
    null_auc: float
    p_value: float
    expected_auc: float | None
    found: bool

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def position_features(position: Floats) -> Floats:
    """Depths, sideways places, distances from the centre and from each other, each sorted [N, F], of positions [N, K, 2].

    >>> some = np.random.default_rng(0).uniform(-3, 3, (5, 4, 2))
    >>> np.allclose(position_features(some), position_features(some[:, ::-1]))
    True
    """
    ahead, aside, _ = views(CAMERA)
    one, other = np.triu_indices(position.shape[1], 1)
    parts = [
        position @ ahead[:2],
        position @ aside[:2],
        np.linalg.norm(position, axis=-1),
        np.linalg.norm(position[:, one] - position[:, other], axis=-1),
    ]
    return np.concatenate([np.sort(part, axis=1) for part in parts], axis=1)


def visibility_features(scenes: Scenes) -> Features:
    """How many objects are visible at all, and well enough; and the sorted visible areas in pixels."""
    pixels = visible_pixels(object_masks(scenes, REFERENCE), scenes.attributes.shape[1]).astype(np.float64)
    counts = [(pixels >= least).sum(axis=1) for least in (1, least_visible(REFERENCE))]
    return {COUNTS: np.stack(counts, axis=1).astype(np.float64), AREAS: np.sort(pixels, axis=1)}


def probe_cues(
    tasks: Mapping[int, LabelledFeatures],
    explained: Collection[str] = (),
    reference: Mapping[int, LabelledFeatures] | None = None,
) -> tuple[CueProbe, ...]:
    """Probe every cue of every task. An ``explained`` cue is found only if it predicts more than in ``reference``.

    >>> generator, labels = np.random.default_rng(0), np.repeat([1, 0], 200)
    >>> clean = generator.normal(size=(400, 3))
    >>> planted = clean + 0.5 * labels[:, None]
    >>> both = {0: LabelledFeatures({"positions": clean}, labels), 1: LabelledFeatures({"positions": planted}, labels)}
    >>> [one.found for one in probe_cues(both)]
    [False, True]
    """
    measured = {task: _measure(task, some) for task, some in tasks.items()}
    if not any(measured.values()):
        return ()
    largest = np.max([one.null for of_task in measured.values() for one in of_task.values()], axis=0)
    threshold = float(np.sort(largest)[-int(LEVEL * (len(largest) + 1))])
    found = []
    for task, of_task in measured.items():
        fresh = _measure(task, reference[task], shuffles=0) if reference is not None and task in reference else {}
        for cue, one in of_task.items():
            above, expected = one.z > threshold, None
            if cue in explained and cue in fresh:
                expected = fresh[cue].auc
                above = above and one.p_above(fresh[cue]) <= LEVEL
            p_value = (1 + int((largest >= one.z).sum())) / (1 + len(largest))
            null_auc = 0.5 + threshold * one.spread
            found.append(CueProbe(task, cue, one.accuracy, one.auc, null_auc, p_value, expected, bool(above)))
    return tuple(found)


@dataclass(frozen=True)
class _Measured:
    """A probe before it is judged. ``null``: z values on shuffled labels; ``variance`` of the AUC by DeLong's formula."""

    accuracy: float
    auc: float
    variance: float
    spread: float  # standard deviation of the AUC of a random order: what z values are in units of
    null: Floats

    @property
    def z(self) -> float:
        return (self.auc - 0.5) / self.spread

    def p_above(self, other: _Measured) -> float:
        """One-sided p value that this AUC is above another one, of other scenes."""
        error = sqrt(self.variance + other.variance)
        if error == 0:
            return 1.0 if self.auc <= other.auc else 0.0
        return float(ndtr(-(self.auc - other.auc) / error))


def _measure(task: int, some: LabelledFeatures, shuffles: int = _SHUFFLES) -> dict[str, _Measured]:
    """Probe every cue on as many positives as negatives; empty where there are too few scenes for the folds."""
    each = min(_MOST, *(int((some.labels == label).sum()) for label in (0, 1)))
    if each < 2 * _FOLDS:
        return {}
    rows = np.concatenate([np.flatnonzero(some.labels == label)[:each] for label in (1, 0)])
    folds = np.tile(np.arange(each) % _FOLDS, 2)  # as many of each label in every fold
    labels = np.repeat([1.0, -1.0], each)
    generator = np.random.default_rng([_SEED, task])
    columns = np.repeat(labels[:, None], 1 + shuffles, axis=1)  # the first column holds the labels as they are
    for fold in range(_FOLDS):
        members = np.flatnonzero(folds == fold)
        columns[members, 1:] = generator.permuted(columns[members, 1:], axis=0)
    spread = sqrt((2 * each + 1) / (12 * each * each))
    found = {}
    for cue, features in some.features.items():
        scores = _cross_validated(features[rows], columns, folds)
        aucs = _aucs(scores, columns)
        own = scores[:, 0]
        right = float(((own * labels > 0) + 0.5 * (own == 0)).mean())
        null = (aucs[1:] - 0.5) / spread
        found[cue] = _Measured(right, float(aucs[0]), _delong_variance(own[:each], own[each:]), spread, null)
    return found


def _cross_validated(features: Floats, columns: Floats, folds: npt.NDArray[np.int64]) -> Floats:
    """The score of every scene for every column of labels, by ridge regression on the other folds."""
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    inputs = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-12)
    scores = np.empty(columns.shape)
    for fold in range(_FOLDS):
        test, train = folds == fold, folds != fold
        gram = inputs[train].T @ inputs[train] + _RIDGE * np.eye(inputs.shape[1])
        scores[test] = inputs[test] @ np.linalg.solve(gram, inputs[train].T @ columns[train])
    return scores


def _aucs(scores: Floats, columns: Floats) -> Floats:
    """The area under the ROC curve of every column, from ranks; as many positives as negatives."""
    each = len(scores) // 2
    ranks = np.where(columns > 0, rankdata(scores, axis=0), 0.0).sum(axis=0)
    return np.asarray((ranks - each * (each + 1) / 2) / (each * each))


def _delong_variance(positives: Floats, negatives: Floats) -> float:
    """The variance of an AUC (DeLong et al. 1988): how the share of the other class that is outranked varies."""
    outranked = (rankdata(np.concatenate([positives, negatives])) - 1)[: len(positives)] - (rankdata(positives) - 1)
    outranking = rankdata(np.concatenate([negatives, positives]))[: len(negatives)] - rankdata(negatives)
    shares = (outranked / len(negatives), outranking / len(positives))
    return float(sum(share.var(ddof=1) / len(share) for share in shares))
