"""What the test images leave open about gaps: intervals over images, beside those over seeds.

Seeds say how much training varies; they all answer about the same images, and another test would have others. So images are drawn
again with replacement within every group (class x pattern), the same ones for every run, and whatever is a mean over seeds stays
the mean over those seeds: 2,000 times, of which the middle 95 % are the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.metrics.curves import SAME_ACCURACY
from einstellung.metrics.image_pairs import Predictions, of_split
from einstellung.metrics.log_checks import Check, Run
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

    They are null, and a check says why, where predictions are not those that were scored or not of the same images.
    """
    hits, check = hits_of_runs(runs, design, predictions)
    methods = dict(card["methods"])
    if hits:
        drawn = redrawn({split: len(found) for split, found in next(iter(hits.values())).items()})
        for method, own in runs.items():
            pairs = pairs_with(own, runs[baseline]) if baseline is not None else []
            seeds = [run.seed for run, _ in pairs]
            alone = _patterns(_mean(hits, [(method, seed) for seed in own]), drawn, design)
            ours, theirs = (
                _patterns(_mean(hits, [(name, seed) for seed in seeds]), drawn, design) if name and seeds else None
                for name in (method, baseline)
            )
            methods[method] = _with_intervals(methods[method], design, alone, ours, theirs)
    checks = [*card["checks"], check.to_dict()]
    return {**card, "methods": methods, "checks": checks, "image_resamples": RESAMPLES if hits else None}


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


def redrawn(sizes: Mapping[str, int]) -> dict[str, Floats]:
    """How often every image of a group is drawn, as shares: [resamples, images] by split."""
    generator = np.random.default_rng(_SEED)
    return {
        split: generator.multinomial(size, np.full(size, 1 / size), RESAMPLES) / size for split, size in sizes.items()
    }


def _mean(hits: Mapping[Run, Hits], chosen: Sequence[Run]) -> Hits:
    return {split: np.mean([hits[run][split] for run in chosen], axis=0) for split in hits[chosen[0]]}


def _patterns(hits: Hits, drawn: Mapping[str, Floats], design: Design) -> dict[str, Floats]:
    """Accuracy by pattern in every resample: the mean over classes."""
    return {
        pattern: np.mean(
            [drawn[split] @ hits[split] for split in (group_split(label, pattern) for label in design.labels)], axis=0
        )
        for pattern in design.patterns
    }


def _gaps(patterns: Mapping[str, Floats], design: Design, weighting: str) -> dict[str, Floats] | None:
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
    alone: Mapping[str, Floats],
    ours: Mapping[str, Floats] | None,
    theirs: Mapping[str, Floats] | None,
) -> dict[str, Any]:
    last = design.phases[-1]
    end = dict(record["phases"][last])
    for weighting in WEIGHTINGS:
        gaps = _gaps(alone, design, weighting)
        if gaps is None:
            continue
        measured = dict(end[weighting])
        measured["gaps"] = _beside(measured["gaps"], gaps)
        if ours is not None and theirs is not None:
            minuend, subtrahend = _gaps(ours, design, weighting), _gaps(theirs, design, weighting)
            assert minuend is not None
            assert subtrahend is not None
            differences = {name: minuend[name] - subtrahend[name] for name in minuend}
            measured["difference"] = _beside(measured["difference"], differences)
        end[weighting] = measured
    return {**record, "phases": {**record["phases"], last: end}}


def _beside(estimates: Mapping[str, Mapping[str, Any]], resampled: Mapping[str, Floats]) -> dict[str, Any]:
    bounds = {name: np.quantile(values, [0.025, 0.975]).tolist() for name, values in resampled.items()}
    return {name: {**estimate, IMAGES95: bounds[name]} for name, estimate in estimates.items()}
