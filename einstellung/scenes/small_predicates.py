"""All small predicates about a scene, independent of its rules: the search space of the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from einstellung.scenes.attributes import ATTRIBUTES, COLUMNS, Codes
from einstellung.scenes.rule_book import PLACES, Bools, ObjectPattern
from einstellung.scenes.scene import Floats

DECILES = np.arange(1, 10) / 10

Counts = npt.NDArray[np.int64]


def attribute_hits(attributes: Codes, places: Codes | None = None) -> tuple[list[str], Counts]:
    """Count for every small predicate over attributes in how many scenes it holds.

    >>> scenes = np.array([[[1, 0, 0, 2], [1, 0, 0, 2]], [[0, 0, 0, 1], [1, 1, 1, 2]]], dtype=np.uint8)
    >>> words, hits = attribute_hits(scenes)
    >>> dict(zip(words, hits.tolist()))["2 identical objects"]
    1
    """
    found = [(words, int(holds.sum())) for words, holds in _statements(attributes, places)]
    return [words for words, _ in found], np.array([hits for _, hits in found], dtype=np.int64)


def statistic_hits(statistics: Mapping[str, Floats], thresholds: Mapping[str, Floats]) -> tuple[list[str], Counts]:
    """Count for every statistic and threshold in how many scenes the statistic is above it."""
    words = [f"{name} above {limit:.4g}" for name, limits in thresholds.items() for limit in limits]
    hits = [int((statistics[name] > limit).sum()) for name, limits in thresholds.items() for limit in limits]
    return words, np.array(hits, dtype=np.int64)


def _statements(attributes: Codes, places: Codes | None) -> Iterator[tuple[str, Bools]]:
    # Scenes on the last axis: there are thousands of scenes and a handful of objects.
    columns = np.ascontiguousarray(attributes.transpose(2, 1, 0))
    objects = columns.shape[1]
    having = {
        (name, value): codes == code
        for codes, (name, values) in zip(columns, ATTRIBUTES.items(), strict=True)
        for code, value in enumerate(values)
    }
    some = {key: has.any(axis=0) for key, has in having.items()}
    for (_, value), has in having.items():
        number = has.sum(axis=0, dtype=np.uint8)
        for least in range(1, objects + 1):
            yield (f"all {value}" if least == objects > 1 else f"{_at_least(least)} {value}"), number >= least
    for one, other in combinations(having, 2):
        if one[0] != other[0]:
            number = (having[one] & having[other]).sum(axis=0, dtype=np.uint8)
            both = ObjectPattern(**dict([one, other])).words
            for least in range(1, min(objects, 2) + 1):
                yield f"{_at_least(least)} {both}", number >= least
        yield f"some {one[1]} and some {other[1]}", some[one] & some[other]
        yield f"some {one[1]} or some {other[1]}", some[one] | some[other]
    yield from _similarities(columns)
    if places is not None:
        for step, words in enumerate(PLACES.values()):
            for code, place in enumerate(words):
                there = (places.T >> step) & 1 == code
                yield f"some object {place}", there.any(axis=0)
                for (_, value), has in having.items():
                    yield f"some {value} {place}", (there & has).any(axis=0)


def _similarities(columns: Codes) -> Iterator[tuple[str, Bools]]:
    """How many objects share one, several or all attributes, and how many distinct ones there are."""
    objects = columns.shape[1]
    alike_in = {name: codes[:, None] == codes[None, :] for name, codes in zip(COLUMNS, columns, strict=True)}
    before = np.tri(objects, k=-1, dtype=bool)[..., None]
    for size in range(1, len(COLUMNS) + 1):
        for names in combinations(COLUMNS, size):
            alike = np.logical_and.reduce([alike_in[name] for name in names])
            most = alike.sum(axis=1, dtype=np.uint8).max(axis=0)
            # An object is new if no earlier one equals it.
            different = (~(alike & before).any(axis=1)).sum(axis=0, dtype=np.uint8)
            whole, what = size == len(COLUMNS), " and ".join(names)
            for least in range(2, objects + 1):
                yield (f"{least} identical objects" if whole else f"{least} objects of the same {what}"), most >= least
            for least in range(3, objects):
                yield f"{least} different {'objects' if whole else f'in {what}'}", different >= least


def _at_least(number: int) -> str:
    return "some" if number == 1 else f"at least {number}"


def layout_statistics(
    position: Floats, camera: Floats | None = None, lamps: Floats | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    """Statistics of object positions [N, K, 2], camera [N, 3] and lamps [N, 3, 3]."""
    statistics = {
        "mean x": position[..., 0].mean(axis=1),
        "mean y": position[..., 1].mean(axis=1),
        "mean distance from the centre": np.hypot(position[..., 0], position[..., 1]).mean(axis=1),
    }
    if position.shape[1] > 1:
        one, other = np.triu_indices(position.shape[1], 1)
        gaps = np.linalg.norm(position[:, one] - position[:, other], axis=-1)
        statistics |= {"nearest pair": gaps.min(axis=1), "farthest pair": gaps.max(axis=1)}
    for name, values in (("camera", camera), ("lamps", lamps)):
        if values is not None:
            flat = values.reshape(len(values), -1)
            statistics |= {f"{name} {number}": flat[:, number] for number in range(flat.shape[1])}
    return statistics


def thresholds_of(statistics: Mapping[str, Floats]) -> dict[str, npt.NDArray[np.float64]]:
    """The deciles of every statistic: the thresholds of its predicates."""
    return {name: np.quantile(values, DECILES) for name, values in statistics.items()}
