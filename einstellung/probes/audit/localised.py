"""Find small regions that decide the class by themselves: candidates from one half of the images, estimates from the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from einstellung.probes.audit.extent import box_of_shared_content
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages, TransplantMap, pulls
from einstellung.probes.audit.windows import Box, clipped, iou, overlap

RECIPIENTS = 6  # images that every donor's box is pasted into
_MOST_DONORS = 24
_BEARS = 0.5  # of the strongest donors' pull: above it, an image counts as having the cue when its extent is estimated


@dataclass(frozen=True)
class Candidate:
    """A box of a class, None for a moving cue; ``classes``: all that share it; ``seen_by``: the maps that proposed it."""

    label: int
    box: Box | None
    classes: tuple[int, ...]
    seen_by: tuple[str, ...] = ("replacement",)


def contrast(values: Doubles) -> Doubles:
    """[classes, windows]: each class against the lower quartile of all classes at the same window.

    What all classes lose there (such as in the middle of an image, where objects are) is not a cue of one class.
    """
    return np.asarray(values - np.quantile(values, 0.25, axis=0, keepdims=True))


def fixed_candidates(
    predicted: PredictedImages, found: TransplantMap, extra: Sequence[tuple[int, Box, str]] = ()
) -> list[Candidate]:
    """Per class, the windows with the largest pull and miss relative to other classes, and those proposed by other maps."""
    classes = predicted.classes
    pull = np.stack([found.pull(predicted, label) for label in classes])
    miss = np.stack([found.miss(predicted, label) for label in classes])
    seeds = [_sharing(predicted, found, label, box, (by,)) for label, box, by in extra]
    for number, label in enumerate(classes):
        for box in _strongest(contrast(pull)[number], found.windows, 2) + _strongest(
            contrast(miss)[number], found.windows, 1
        ):
            seeds.append(_sharing(predicted, found, label, box, ("replacement",)))
    return _distinct(seeds)


def _strongest(values: Doubles, windows: Sequence[Box], count: int) -> list[Box]:
    """The windows with the largest values that do not overlap each other."""
    kept: list[Box] = []
    for place in np.argsort(-values):
        if len(kept) < count and not any(overlap(windows[int(place)], other) for other in kept):
            kept.append(windows[int(place)])
    return kept


def _sharing(predicted: PredictedImages, found: TransplantMap, label: int, box: Box, by: tuple[str, ...]) -> Candidate:
    """Add the classes that pull or miss at least half as much at this window: they may share the cue."""
    place = max(range(len(found.windows)), key=lambda one: overlap(found.windows[one], box))
    classes = predicted.classes
    pull = contrast(np.stack([found.pull(predicted, one, [place]) for one in classes]))[:, 0]
    miss = contrast(np.stack([found.miss(predicted, one) for one in classes]))[:, place]
    own = classes.index(label)
    both = [
        one
        for number, one in enumerate(classes)
        if one == label
        or (miss[own] > 0.1 and miss[number] >= 0.5 * miss[own] and pull[number] >= 0.5 * max(pull[own], 0))
    ]
    group = tuple(both) if len(both) <= len(classes) // 2 else (label,)
    return Candidate(label, box, group, by)


def _distinct(seeds: Sequence[Candidate]) -> list[Candidate]:
    """One candidate for every class and place."""
    kept: list[Candidate] = []
    for seed in seeds:
        assert seed.box is not None
        for place, other in enumerate(kept):
            if other.label == seed.label and other.box is not None and iou(other.box, seed.box) > 0.4:
                kept[place] = replace(other, seen_by=tuple(dict.fromkeys((*other.seen_by, *seed.seen_by))))
                break
        else:
            kept.append(seed)
    return kept


def refine(predicted: PredictedImages, seed: Candidate, draws: np.random.Generator) -> Candidate:
    """Shift and resize the box to the smallest one that keeps the pull."""
    assert seed.box is not None
    donors = _donors(predicted, seed, draws)
    shape = predicted.images.shape[-2:]
    step = max(1, seed.box[2] // 4)
    moved = [
        clipped(seed.box[0] + down * step, seed.box[1] + right * step, seed.box[2], seed.box[3], shape)
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
    ]
    scores = [float(pulls(predicted, donors, box, seed.classes, 2, draws).mean()) for box in moved]
    best = moved[int(np.argmax(scores))]
    each = pulls(predicted, donors, best, seed.classes, RECIPIENTS, draws).mean(axis=1)
    bearing = donors[each >= _BEARS * np.quantile(each, 0.9)] if np.quantile(each, 0.9) > 0 else donors
    shared = box_of_shared_content(predicted, bearing, best, seed.classes)
    if shared is not None:
        whole = float(pulls(predicted, bearing, best, seed.classes, 2, draws).mean())
        if float(pulls(predicted, bearing, shared, seed.classes, 2, draws).mean()) >= 0.7 * whole:
            return replace(seed, box=shared)
    return replace(seed, box=_shrunk(predicted, bearing, best, seed.classes, draws))


def _shrunk(
    predicted: PredictedImages, donors: Ints, box: Box, target: Sequence[int], draws: np.random.Generator
) -> Box:
    """Move each edge inwards while the pull stays above nine tenths."""
    whole = float(pulls(predicted, donors, box, target, 3, draws).mean())
    step = max(1, box[2] // 8)
    for edge in range(4):
        while True:
            top, left, height, width = box
            smaller = {
                0: (top + step, left, height - step, width),
                1: (top, left + step, height, width - step),
                2: (top, left, height - step, width),
                3: (top, left, height, width - step),
            }[edge]
            if min(smaller[2:]) < 2 or float(pulls(predicted, donors, smaller, target, 3, draws).mean()) < 0.9 * whole:
                break
            box = smaller
    return box


def _donors(predicted: PredictedImages, seed: Candidate, draws: np.random.Generator) -> Ints:
    rows = np.flatnonzero(predicted.labels == seed.label)
    return rows if len(rows) <= _MOST_DONORS else draws.choice(rows, _MOST_DONORS, replace=False)


def own_windows(predicted: PredictedImages, found: TransplantMap, draws: np.random.Generator) -> list[Box]:
    """The strongest window of every image: of its top three in the map, the best in other recipients."""
    gains = np.nan_to_num(found.gains(predicted), nan=-1.0)
    best = np.argsort(-gains, axis=1)[:, :3]
    tried = np.empty(best.shape)
    for label in predicted.classes:
        rows = np.flatnonzero(predicted.labels == label)
        for rank in range(best.shape[1]):
            boxes = [found.windows[int(place)] for place in best[rows, rank]]
            tried[rows, rank] = pulls(predicted, rows, boxes, (label,), 2, draws).mean(axis=1)
    chosen = best[np.arange(len(predicted)), tried.argmax(axis=1)]
    return [found.windows[int(place)] for place in chosen]
