"""The uncertainty of gaps due to the test images: intervals over images, in addition to those over seeds.

Seeds say how much training varies; they all answer about the same images, and another test would have others. So images are drawn
again with replacement within every group (class x pattern), the same ones for every run, and whatever is a mean over seeds stays
the mean over those seeds: 2,000 times, of which the middle 95 % are the interval. It knows nothing of seeds, as the interval over
seeds knows nothing of images; :attr:`~einstellung.diagnoses.shortcuts.card.GapEstimate.bounds` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from einstellung.checks import Check
from einstellung.diagnoses.shortcuts.card import WEIGHTINGS, Weighting
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.gaps import in_terms_of_labels
from einstellung.diagnoses.shortcuts.runs import Runs, pairs_with
from einstellung.diagnoses.shortcuts.splits import group_split, subsets_of
from einstellung.diagnoses.wording import listed, run_name
from einstellung.metrics.curves import SAME_ACCURACY
from einstellung.metrics.image_pairs import Predictions, of_split
from einstellung.timeline import Run

RESAMPLES = 2000
CHECK = "predictions are those of the scored epoch, on the same images in every run"
_SEED = 0

Floats = npt.NDArray[np.float64]
#: By the split of a group, 1 for every image that is classified correctly, in the order of identities.
Hits = Mapping[str, Floats]
Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class ImageIntervals:
    """The 95 % interval over images of every gap, and of its difference from the baseline's, at the end of the last phase."""

    by_gaps: Mapping[tuple[str, Weighting], Bounds]
    by_differences: Mapping[tuple[str, Weighting], Bounds]

    def gaps(self, method: str, weighting: Weighting) -> Bounds:
        """Of a method's gaps, by name; empty where these are undefined."""
        return self.by_gaps.get((method, weighting), {})

    def differences(self, method: str, weighting: Weighting) -> Bounds:
        """Of what a method's gaps differ by from the baseline's, by name; empty where there is nothing to compare."""
        return self.by_differences.get((method, weighting), {})


def image_intervals(
    runs: Mapping[str, Runs], design: Design, baseline: str | None, predictions: Predictions
) -> tuple[ImageIntervals | None, Check]:
    """The intervals, and the check that predictions are those that were scored, on the same images; none where they are not."""
    hits, check = hits_of_runs(runs, design, predictions)
    if not hits:
        return None, check
    answers: dict[tuple[str, bool], Hits] = {}  # by method, and whether its own seeds or those of the baseline's pairs
    for method, own in runs.items():
        answers[method, False] = _mean(hits, [(method, seed) for seed in own])
        if baseline is not None and (pairs := pairs_with(own, runs[baseline])):
            ours, theirs = (_mean(hits, [(name, run.seed) for run, _ in pairs]) for name in (method, baseline))
            answers[method, True] = {split: ours[split] - theirs[split] for split in ours}
    redrawn = dict(zip(answers, _redrawn_patterns(list(answers.values()), design), strict=True))
    found: dict[bool, dict[tuple[str, Weighting], Bounds]] = {False: {}, True: {}}
    for (method, is_difference), patterns in redrawn.items():
        for weighting in WEIGHTINGS:
            if (gaps := _gaps(patterns, design, weighting)) is not None:
                found[is_difference][method, weighting] = {name: _middle(values) for name, values in gaps.items()}
    return ImageIntervals(found[False], found[True]), check


def hits_of_runs(runs: Mapping[str, Runs], design: Design, predictions: Predictions) -> tuple[dict[Run, Hits], Check]:
    """Which images every run answers rightly, if all runs have it as it was scored and of the same images; else nothing."""
    last, splits = design.last, design.splits()
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


def _gaps(patterns: Mapping[str, Floats], design: Design, weighting: Weighting) -> dict[str, Floats] | None:
    """The gaps in every resample; of differences of accuracies, the differences of gaps."""
    turned = design.turned_in(design.last, weighting)
    weights = design.weights_for(design.last, weighting, turned)
    if weights is None:
        return None
    whole = sum(weight * patterns[pattern] for pattern, weight in weights.items())
    return {
        name: patterns[in_terms_of_labels(pattern, turned)] - whole for name, pattern in subsets_of(design.cues).items()
    }


def _middle(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high
