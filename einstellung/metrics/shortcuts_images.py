"""What the test images leave open about gaps: intervals over images, beside those over seeds.

Seeds say how much training varies; they all answer about the same images, and another test would have others. So images are drawn
again with replacement within every group (class x pattern), the same ones for every run, and whatever is a mean over seeds stays
the mean over those seeds: 2,000 times, of which the middle 95 % are the interval. It knows nothing of seeds, as the interval over
seeds knows nothing of images; :func:`both` puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.checks import Check
from einstellung.metrics.curves import SAME_ACCURACY
from einstellung.metrics.image_pairs import Predictions, of_split
from einstellung.metrics.log_checks import Run
from einstellung.metrics.shortcuts_facets import Runs, pairs_with
from einstellung.metrics.shortcuts_gaps import in_terms_of_labels
from einstellung.metrics.shortcuts_phase import WEIGHTINGS, turned_in, weights_for
from einstellung.metrics.shortcuts_runs import Design
from einstellung.metrics.shortcuts_splits import group_split, subsets_of
from einstellung.metrics.twin_checks import listed, run_name

RESAMPLES = 2000
IMAGES95 = "images95"
CHECK = "predictions are those of the scored epoch, on the same images in every run"
_SEED = 0

Floats = npt.NDArray[np.float64]
Hits = Mapping[
    str, Floats
]  # by the split of a group, 1 for every image that is answered rightly, in the order of identities


def with_image_intervals(
    card: Mapping[str, Any], runs: Mapping[str, Runs], design: Design, baseline: str | None, predictions: Predictions
) -> dict[str, Any]:
    """The card with ``images95`` beside every ``ci95`` of a gap and of its difference from the baseline, in the last phase.

    Where predictions are not those that were scored, or not of the same images, there are none; a check and a warning say why.
    """
    hits, check = hits_of_runs(runs, design, predictions)
    checks = [*card["checks"], check.to_dict()]
    if not hits:
        without = f"verdicts go by the intervals over seeds alone: {check.detail}"
        return {**card, "checks": checks, "warnings": [*card["warnings"], without]}
    answers: dict[tuple[str, bool], Hits] = {}  # by method, and whether its own seeds or those of the baseline's pairs
    for method, own in runs.items():
        answers[method, False] = _mean(hits, [(method, seed) for seed in own])
        if baseline is not None and (pairs := pairs_with(own, runs[baseline])):
            ours, theirs = (_mean(hits, [(name, run.seed) for run, _ in pairs]) for name in (method, baseline))
            answers[method, True] = {split: ours[split] - theirs[split] for split in ours}
    redrawn = dict(zip(answers, _redrawn_patterns(list(answers.values()), design), strict=True))
    methods = {
        method: _with_intervals(record, design, redrawn[method, False], redrawn.get((method, True)))
        for method, record in card["methods"].items()
    }
    return {**card, "methods": methods, "checks": checks, "image_resamples": RESAMPLES}


def hits_of_runs(runs: Mapping[str, Runs], design: Design, predictions: Predictions) -> tuple[dict[Run, Hits], Check]:
    """Which images every run answers rightly, if all runs have it as it was scored and of the same images; else nothing."""
    last, splits = design.phases[-1], design.splits()
    found: dict[Run, Hits] = {}
    identities: dict[str, list[int]] = {}
    amiss = []
    for method, own in runs.items():
        for seed, run in own.items():
            frame = predictions.get((method, seed))
            tables = {split: None if frame is None else of_split(frame, split) for split in splits}
            hits: dict[str, Floats] = {}
            why = "no predictions of every group"
            for split, table in tables.items():
                if table is None:
                    break
                table = table.sort_index()
                right = np.asarray(table["prediction"] == table["label"], dtype=np.float64)
                scored = run.value(last, split)
                if scored is None or abs(right.mean() - scored) > SAME_ACCURACY:
                    why = f"{split} {right.mean():.3f}, scored {'nothing' if scored is None else f'{scored:.3f}'}"
                    break
                if identities.setdefault(split, table.index.tolist()) != table.index.tolist():
                    why = f"other images in {split}"
                    break
                hits[split] = right
            if len(hits) < len(splits):
                amiss.append(f"{run_name((method, seed))}: {why}")
            found[method, seed] = hits
    if amiss:
        return {}, Check(CHECK, None, f"{listed(amiss)}; so no intervals over images")
    images = sum(len(some) for some in identities.values())
    return found, Check(CHECK, True, f"{images:,} images in {len(found)} runs")


def _mean(hits: Mapping[Run, Hits], chosen: Sequence[Run]) -> Hits:
    return {split: np.mean([hits[run][split] for run in chosen], axis=0) for split in hits[chosen[0]]}


def shares_drawn(generator: np.random.Generator, images: int) -> Floats:
    """How often every image of a group is drawn in each resample, as shares: [resamples, images]."""
    drawn: Floats = generator.multinomial(images, np.full(images, 1 / images), RESAMPLES) / images
    return drawn


def _redrawn_patterns(answers: Sequence[Hits], design: Design) -> list[dict[str, Floats]]:
    """Of each of several answers, the accuracy by pattern in every resample: the mean over classes.

    The groups are drawn one after the other, so that only one of them is in memory.
    """
    generator = np.random.default_rng(_SEED)
    found: list[dict[str, Floats]] = [{} for _ in answers]
    for pattern in design.patterns:
        by_label = []
        for label in design.labels:
            columns = np.stack([answer[group_split(label, pattern)] for answer in answers], axis=1)
            by_label.append(shares_drawn(generator, len(columns)) @ columns)
        for number, values in enumerate(np.mean(by_label, axis=0).T):
            found[number][pattern] = values
    return found


def _gaps(patterns: Mapping[str, Floats], design: Design, weighting: str) -> dict[str, Floats] | None:
    """The gaps in every resample; of differences of accuracies, the differences of gaps."""
    turned = turned_in(design, design.phases[-1], weighting)
    weights = weights_for(design, design.phases[-1], weighting, turned)
    if weights is None:
        return None
    whole = sum(weight * patterns[pattern] for pattern, weight in weights.items())
    return {
        name: patterns[in_terms_of_labels(pattern, turned)] - whole for name, pattern in subsets_of(design.cues).items()
    }


def _with_intervals(
    record: Mapping[str, Any],
    design: Design,
    own: Mapping[str, Floats],
    differences: Mapping[str, Floats] | None,
) -> dict[str, Any]:
    last = design.phases[-1]
    end = dict(record["phases"][last])
    for weighting in WEIGHTINGS:
        measured = dict(end[weighting])
        for name, patterns in (("gaps", own), ("difference", differences)):
            if patterns is not None and (gaps := _gaps(patterns, design, weighting)) is not None:
                measured[name] = _beside(measured[name], gaps)
        end[weighting] = measured
    return {**record, "phases": {**record["phases"], last: end}}


def _beside(estimates: Mapping[str, Mapping[str, Any]], resampled: Mapping[str, Floats]) -> dict[str, Any]:
    bounds = {name: np.quantile(values, [0.025, 0.975]).tolist() for name, values in resampled.items()}
    return {name: {**estimate, IMAGES95: bounds[name]} for name, estimate in estimates.items()}


def both(estimate: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval that allows for seeds and, where predictions are known, for images; None with a single seed.

    What seeds and what images do to a mean over seeds is independent of each other, so that variances add up, and with them the
    squares of an interval's half widths.

    >>> both({"mean": 0.0, "ci95": [-0.3, 0.3], "images95": [-0.4, 0.4]})
    (-0.5, 0.5)
    >>> both({"mean": 0.0, "ci95": [-0.3, 0.3]})
    (-0.3, 0.3)
    """
    if estimate["ci95"] is None:
        return None
    mean, (low, high) = estimate["mean"], estimate["ci95"]
    if estimate.get(IMAGES95) is None:
        return low, high
    least, most = estimate[IMAGES95]
    return mean - math.hypot(mean - low, mean - least), mean + math.hypot(high - mean, most - mean)
