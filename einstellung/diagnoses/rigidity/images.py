"""Per-image predictions: masked against patched, and the effect of the cue on each image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from einstellung.checks import Check
from einstellung.diagnoses.rigidity.card import (
    CueEffect,
    CueEffectOverSeeds,
    Masking,
    PerImage,
    Pull,
    RigidityCard,
)
from einstellung.diagnoses.rigidity.splits import SAME_IMAGES, SPLIT_OF
from einstellung.errors import InputError
from einstellung.metrics.image_pairs import ImagePairs, IntArray, Predictions, RunPredictions, matching, paired
from einstellung.metrics.statistics import holm, mcnemar_exact, summarise
from einstellung.timeline import NSC, NSC_PATCHED, SC_MASK, SC_PATCH, Run

PLACEMENTS = ("SC_patch", "SC_elsewhere", "SC_mask", "SC_clean")
PULL = ("NSC_called_SC", "NSC_patched_called_SC", "pull")
SAME_ACCURACY = 1e-6  # a timeline may have been rounded on its way through a file


def per_image(predictions: Predictions) -> PerImage:
    """Both readings of every run: ``masking`` by method and seed, ``cue_effect`` by method.

    >>> import pandas as pd
    >>> from einstellung.metrics.image_pairs import PREDICTION_COLUMNS, by_split
    >>> rows = [("T2_shortcut_normal", 3, 0, 0), ("T2_shortcut_masked", 3, 0, 1)]
    >>> record = per_image({("sgd", 42): by_split(pd.DataFrame(rows, columns=PREDICTION_COLUMNS))})
    >>> record.masking["sgd"][42].only_patched, record.cue_effect["sgd"].SC_mask.mean
    (1, 0.0)
    """
    masked: dict[str, dict[int, Masking]] = {}
    for (method, seed), counts in masking_of_runs(predictions).items():
        masked.setdefault(method, {})[seed] = counts
    effects: dict[str, dict[int, CueEffect]] = {}
    for (method, seed), effect in cue_effect_of_runs(predictions).items():
        effects.setdefault(method, {})[seed] = effect
    return PerImage(masking=masked, cue_effect={method: over_seeds(own) for method, own in effects.items()})


def masking(pairs: ImagePairs) -> Masking:
    r"""Patched (first) against masked (second), image by image, by the exact McNemar test.

    With b and c images that are right under one condition only: :math:`p = \min(1, 2\, P(X \le \min(b, c)))`,
    :math:`X \sim Binomial(b + c, 1/2)`.

    >>> masking(ImagePairs(np.zeros(6, int), np.array([0, 0, 0, 0, 0, 1]), np.array([0, 1, 1, 1, 1, 1])))
    Masking(n=6, both_right=1, only_patched=4, only_masked=0, both_wrong=1, p=0.125, p_holm=None)
    """
    patched, masked = pairs.first == pairs.label, pairs.second == pairs.label
    test = mcnemar_exact(patched, masked)
    both, neither = int((patched & masked).sum()), int((~patched & ~masked).sum())
    return Masking(test.n, both, test.only_first, test.only_second, neither, test.p)


def masking_of_runs(predictions: Predictions) -> dict[Run, Masking]:
    """:func:`masking` of every run that stored both splits, corrected by Holm over all of them."""
    found = {
        run: masking(pairs)
        for run, own in predictions.items()
        if (pairs := matching(own, SC_PATCH, SC_MASK)) is not None
    }
    corrected = holm([counts.p for counts in found.values()])
    return {run: replace(counts, p_holm=p) for (run, counts), p in zip(found.items(), corrected, strict=True)}


def macro_accuracy(label: npt.ArrayLike, prediction: npt.ArrayLike) -> float:
    r"""The mean over classes of the share of right answers.

    .. math:: A = \frac1{|C|} \sum_{c \in C} \frac1{n_c} \sum_{i: y_i = c} [\hat y_i = y_i]

    >>> macro_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    _, classes, counts = np.unique(np.asarray(label), return_inverse=True, return_counts=True)
    right = np.bincount(classes, weights=np.asarray(prediction) == np.asarray(label))
    return float((right / counts).mean())


def pull(pairs: ImagePairs, shortcut_classes: IntArray) -> Pull:
    r"""Does the cue pull images of other classes towards the shortcut classes?

    .. math:: pull = \frac1n \sum_i [\hat y_i^{cue} \in C_{patch}] - \frac1n \sum_i [\hat y_i \in C_{patch}]

    over the NSC test images; p: exact McNemar test on 'is called a shortcut class'.

    >>> said = pull(ImagePairs(np.full(4, 5), np.array([5, 5, 5, 1]), np.array([0, 1, 5, 1])), np.array([0, 1]))
    >>> said.without_cue, said.with_cue, said.difference, said.only_with, said.p
    (0.25, 0.75, 0.5, 2, 0.5)
    """
    before, after = np.isin(pairs.first, shortcut_classes), np.isin(pairs.second, shortcut_classes)
    test = mcnemar_exact(before, after)
    without_cue, with_cue = float(before.mean()), float(after.mean())
    return Pull(
        n=test.n,
        without_cue=without_cue,
        with_cue=with_cue,
        only_without=test.only_first,
        only_with=test.only_second,
        p=test.p,
        difference=with_cue - without_cue,
    )


def cue_effect(run: RunPredictions) -> CueEffect | None:
    """Read one run's predictions. The shortcut classes are the labels of the SC split; None where it was not stored."""
    patched = run.get(SC_PATCH)
    if patched is None:
        return None
    accuracy: dict[str, float | None] = {"SC_patch": macro_accuracy(patched.label, patched.prediction)}
    for key in PLACEMENTS[1:]:
        pairs = matching(run, SC_PATCH, SPLIT_OF[key])
        accuracy[key] = None if pairs is None else macro_accuracy(pairs.label, pairs.second)
    foreign = matching(run, NSC, NSC_PATCHED)
    own = np.unique(patched.label)
    pulled = None if foreign is None else pull(foreign, own)
    called = (None, None, None) if pulled is None else (pulled.without_cue, pulled.with_cue, pulled.difference)
    return CueEffect(**accuracy, **dict(zip(PULL, called, strict=True)), pull_test=pulled)


def cue_effect_of_runs(predictions: Predictions) -> dict[Run, CueEffect]:
    """:func:`cue_effect` of every run that has one; the tests of the pull are corrected by Holm over all of them."""
    found = {run: effect for run, own in predictions.items() if (effect := cue_effect(own)) is not None}
    tests = [effect.pull_test for effect in found.values()]
    corrected = holm([test.p if test is not None else None for test in tests])
    return {
        run: effect
        if effect.pull_test is None
        else effect.model_copy(update={"pull_test": effect.pull_test.model_copy(update={"p_holm": p})})
        for (run, effect), p in zip(found.items(), corrected, strict=True)
    }


def over_seeds(effects: Mapping[int, CueEffect]) -> CueEffectOverSeeds:
    """Mean, deviation and interval over one method's seeds."""
    summaries = {
        key: summarise([effect.value(key) for effect in effects.values()], (-1.0, 1.0) if key == "pull" else (0.0, 1.0))
        for key in (*PLACEMENTS, *PULL)
    }
    return CueEffectOverSeeds(n_seeds=len(effects), per_seed=effects, **summaries)


def per_image_checks(predictions: Predictions, read: PerImage, card: RigidityCard) -> list[Check]:
    """Are the images paired, and are the predictions those of the scored checkpoint? ``read``: what they say."""
    return [same_images(predictions), same_checkpoint(read, card)]


def same_images(predictions: Predictions) -> Check:
    """Splits that show the same images under two conditions do so in every run; those that do not are named."""
    name = "paired predictions are of the same images"
    problems, compared = [], 0
    for (method, seed), own in predictions.items():
        for first, second in SAME_IMAGES:
            try:
                compared += paired(own, first, second) is not None
            except InputError as error:
                problems.append(f"{method} seed {seed}: {error}")
    if problems:
        more = f" | and {len(problems) - 6} more" if len(problems) > 6 else ""
        return Check(name, False, " | ".join(problems[:6]) + more + "; metrics that need these pairs are omitted")
    if not compared:
        return Check(name, None, "no run stored two splits of the same images")
    return Check(name, True, f"{compared} pairs of splits in {len(predictions)} runs, matched by image index")


def same_checkpoint(read: PerImage, card: RigidityCard) -> Check:
    """Accuracy recomputed from the predictions against the card's, for every run that has both."""
    name = "predictions are those of the scored checkpoint"
    compared, differing = 0, []
    effects = {(method, seed): one for method, own in read.cue_effect.items() for seed, one in own.per_seed.items()}
    for run, effect in effects.items():
        for key in ("SC_patch", "SC_mask"):
            said, scored = effect.value(key), _scored(card, run, key)
            if said is None or scored is None:
                continue
            compared += 1
            if abs(said - scored) > SAME_ACCURACY:
                differing.append(f"{run[0]} seed {run[1]}: {key} {said:.3f}, scored {scored:.3f}")
    if not compared:
        return Check(name, None, "no accuracy to compare")
    if not differing:
        return Check(name, True, f"{compared} accuracies recomputed from per-image predictions agree")
    detail = " | ".join(differing[:4]) + (f" | and {len(differing) - 4} more" if len(differing) > 4 else "")
    if card.final == "last":
        return Check(name, None, f"the score uses the last epoch, but predictions may be from an earlier one: {detail}")
    return Check(name, False, detail)


def _scored(card: RigidityCard, run: Run, key: str) -> float | None:
    record = card.methods.get(run[0])
    own = record.per_seed.get(run[1]) if record is not None else None
    return own.value(key) if own is not None else None
