"""The uncertainty of gaps and reliance due to the test images: intervals over images, in addition to those over seeds.

Seeds say how much training varies; they all answer about the same images, and another test would have others. So test
images are drawn again with replacement, the same ones for every run, and whatever is a mean over seeds stays the mean
over those seeds: 2,000 times, of which the middle 95 % are the interval. Where the sources are stored, all images with
the same source object are drawn together, among the objects of one value; otherwise images are drawn one by one within
every group (class x pattern). A twin is drawn with its original. It knows nothing of seeds, as the interval over seeds
knows nothing of images; :attr:`~einstellung.diagnoses.shortcuts.estimates.GapEstimate.bounds` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from einstellung.checks import Check
from einstellung.diagnoses.shortcuts.card import ImageClusters, JudgedBasis
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.estimates import WEIGHTINGS, Weighting
from einstellung.diagnoses.shortcuts.gaps import in_terms_of_labels
from einstellung.diagnoses.shortcuts.runs import Runs, pairs_with
from einstellung.diagnoses.shortcuts.splits import group_split, subsets_of
from einstellung.diagnoses.wording import listed, run_name
from einstellung.metrics.clusters import cluster_bootstrap, percentile_interval
from einstellung.metrics.curves import SAME_ACCURACY
from einstellung.metrics.image_pairs import Predictions
from einstellung.timeline import Run

CHECK = "predictions come from the scored epoch, on the same images in every run"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: By (split, class), 1 for every image that is classified correctly, in the order of identities.
Cell = tuple[str, int]
Hits = Mapping[Cell, Floats]
Bounds = Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True)
class ImageIntervals:
    """95 % intervals over images at the end of the last phase: of gaps, of reliance, and of both minus the baseline's."""

    by_gaps: Mapping[tuple[str, Weighting], Bounds]
    by_differences: Mapping[tuple[str, Weighting], Bounds]
    by_reliance: Mapping[str, Bounds]
    by_reliance_differences: Mapping[str, Bounds]
    clusters: ImageClusters

    def gaps(self, method: str, weighting: Weighting) -> Bounds:
        """Of a method's gaps, by name; empty where these are undefined."""
        return self.by_gaps.get((method, weighting), {})

    def differences(self, method: str, weighting: Weighting) -> Bounds:
        """Of what a method's gaps differ by from the baseline's, by name; empty where there is nothing to compare."""
        return self.by_differences.get((method, weighting), {})

    def reliance(self, method: str, cue: str) -> tuple[float, float] | None:
        """Of a method's reliance on a cue, in the measure that verdicts rest on."""
        return self.by_reliance.get(method, {}).get(cue)

    def reliance_difference(self, method: str, cue: str) -> tuple[float, float] | None:
        """Of what that differs by from the baseline's."""
        return self.by_reliance_differences.get(method, {}).get(cue)


def image_intervals(
    runs: Mapping[str, Runs],
    design: Design,
    baseline: str | None,
    predictions: Predictions,
    basis: Mapping[str, JudgedBasis],
    sources: pd.DataFrame | None = None,
) -> tuple[ImageIntervals | None, Check]:
    """The intervals, and the check that predictions are those that were scored, on the same images; none where they are not.

    ``sources``: the ``source`` and ``value`` of the object in every test image, by its identity.
    """
    twins = [f"{cue}_{kind}" for cue, found in basis.items() if found.by == "twins" for kind in ("common", "swapped")]
    groups = [group_split(label, pattern) for pattern in design.patterns for label in design.labels]
    hits, identities, check = hits_of_runs(runs, design.last, [*groups, *twins], predictions)
    if not hits:
        return None, check
    answers: dict[tuple[str, bool], Hits] = {}  # by method, and whether minus the baseline's
    for method, own in runs.items():
        answers[method, False] = _mean(hits, [(method, seed) for seed in own])
        if baseline is not None and (pairs := pairs_with(own, runs[baseline])):
            ours, theirs = (_mean(hits, [(name, run.seed) for run, _ in pairs]) for name in (method, baseline))
            answers[method, True] = {cell: ours[cell] - theirs[cell] for cell in ours}
    redrawn, clusters = _redrawn_splits(list(answers.values()), identities, sources)
    gaps: dict[bool, dict[tuple[str, Weighting], Bounds]] = {False: {}, True: {}}
    reliances: dict[bool, dict[str, Bounds]] = {False: {}, True: {}}
    for (method, is_difference), splits in zip(answers, redrawn, strict=True):
        patterns = {
            pattern: np.mean([splits[group_split(label, pattern)] for label in design.labels], axis=0)
            for pattern in design.patterns
        }
        for weighting in WEIGHTINGS:
            if (found := _gaps(patterns, design, weighting)) is not None:
                gaps[is_difference][method, weighting] = {name: percentile_interval(one) for name, one in found.items()}
        reliances[is_difference][method] = {
            cue: percentile_interval(_reliance(splits, patterns, design, place, basis[cue]))
            for place, cue in enumerate(design.cues)
        }
    return ImageIntervals(gaps[False], gaps[True], reliances[False], reliances[True], clusters), check


def hits_of_runs(
    runs: Mapping[str, Runs], phase: str, splits: Sequence[str], predictions: Predictions
) -> tuple[dict[Run, Hits], dict[Cell, Ints], Check]:
    """Which images every run answers rightly, and which images those are, if all runs have it as it was scored; else nothing."""
    found: dict[Run, Hits] = {}
    identities: dict[Cell, Ints] = {}
    amiss = []
    for method, own in runs.items():
        for seed, run in own.items():
            stored = predictions.get((method, seed), {})
            hits: dict[Cell, Floats] = {}
            why = None
            for split in splits:
                rows = stored.get(split)
                if rows is None:
                    why = f"no predictions for {split}"
                    break
                order = np.argsort(rows.index, kind="stable")
                by_class = {label: order[rows.label[order] == label] for label in np.unique(rows.label).tolist()}
                right = {
                    label: np.asarray(rows.prediction[places] == label, dtype=np.float64)
                    for label, places in by_class.items()
                }
                acc, scored = float(np.mean([own.mean() for own in right.values()])), run.value(phase, split)
                if scored is None or abs(acc - scored) > SAME_ACCURACY:
                    why = f"{split} {acc:.3f}, scored {'nothing' if scored is None else f'{scored:.3f}'}"
                    break
                for label, places in by_class.items():
                    images = rows.index[places]
                    if not np.array_equal(identities.setdefault((split, label), images), images):
                        why = why or f"different images in {split}"
                    hits[split, label] = right[label]
            if why is not None:
                amiss.append(f"{run_name((method, seed))}: {why}")
            found[method, seed] = hits
    if amiss:
        return {}, {}, Check(CHECK, None, f"{listed(amiss)}; no intervals over images")
    images_seen = len(np.unique(np.concatenate(list(identities.values()))))
    return found, identities, Check(CHECK, True, f"{images_seen:,} images in {len(found)} runs")


def _mean(hits: Mapping[Run, Hits], chosen: Sequence[Run]) -> Hits:
    return {cell: np.mean([hits[run][cell] for run in chosen], axis=0) for cell in hits[chosen[0]]}


def _redrawn_splits(
    answers: Sequence[Hits], identities: Mapping[Cell, Ints], sources: pd.DataFrame | None
) -> tuple[list[dict[str, Floats]], ImageClusters]:
    """Of each of several answers, the accuracy on every split in every resample: the mean over classes."""
    cells = list(identities)
    images, first = np.unique(np.concatenate(list(identities.values())), return_index=True)
    sizes = [len(identities[cell]) for cell in cells]
    values = np.full((len(images), len(cells), len(answers)), np.nan)
    for place, cell in enumerate(cells):
        rows = np.searchsorted(images, identities[cell])
        values[rows, place] = np.stack([answer[cell] for answer in answers], axis=1)
    if sources is not None and np.isin(images, sources.index).all():
        clusters, strata = (sources.loc[images, name].to_numpy(dtype=np.int64) for name in ("source", "value"))
        described = ImageClusters(by="source object", clusters=len(np.unique(clusters)))
    else:
        clusters, strata = images, np.repeat(np.arange(len(cells)), sizes)[first]  # that of the group an image is in
        described = ImageClusters(by="image", clusters=len(images))
    drawn = cluster_bootstrap(values.reshape(len(images), -1), clusters, strata)
    means = drawn.reshape(len(drawn), len(cells), len(answers))
    splits = dict.fromkeys(split for split, _ in cells)
    places = {split: [place for place, cell in enumerate(cells) if cell[0] == split] for split in splits}
    return [
        {split: means[:, own, number].mean(axis=1) for split, own in places.items()} for number in range(len(answers))
    ], described


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


def _reliance(
    splits: Mapping[str, Floats], patterns: Mapping[str, Floats], design: Design, place: int, basis: JudgedBasis
) -> Floats:
    """The reliance on a cue in every resample, in the sense of the last phase."""
    if basis.by == "twins":
        cue = design.cues[place]
        lost = splits[f"{cue}_common"] - splits[f"{cue}_swapped"]
    else:
        sides = {side: [drawn for pattern, drawn in patterns.items() if pattern[place] == side] for side in "10"}
        lost = np.mean(sides["1"], axis=0) - np.mean(sides["0"], axis=0)
    return -lost if design.turned_in(design.last, "alone")[place] else lost
