"""How well one predicate separates the classes of a task: measured in a set of scenes, and expected from their distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.scenes.small_predicates import Counts


@dataclass(frozen=True)
class Finding:
    """The shares of positives and of negatives in which a predicate holds, measured and expected.

    >>> hidden = Finding(0, "2 identical objects", found=(1.0, 0.1), expected=(0.06, 0.1))
    >>> round(hidden.accuracy, 2), round(hidden.expected_accuracy, 2)
    (0.95, 0.52)
    """

    task: int
    words: str
    found: tuple[float, float]
    expected: tuple[float, float]
    p_value: float | None = None  # None: not tested

    @property
    def accuracy(self) -> float:
        """Balanced accuracy of the predicate, or of its negation, as a classifier."""
        return 0.5 + abs(self.found[0] - self.found[1]) / 2

    @property
    def expected_accuracy(self) -> float:
        return 0.5 + abs(self.expected[0] - self.expected[1]) / 2

    @property
    def excess(self) -> float:
        return self.accuracy - self.expected_accuracy

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "predicate": self.words,
            "accuracy": self.accuracy,
            "expected_accuracy": self.expected_accuracy,
            "positives": {"found": self.found[0], "expected": self.expected[0]},
            "negatives": {"found": self.found[1], "expected": self.expected[1]},
            "p_value": self.p_value,
        }


@dataclass(frozen=True)
class PredicateCounts:
    """Counts of one predicate: (scenes, hits) of positives and of negatives, in the audited set and in the reference."""

    task: int
    words: str
    found: tuple[tuple[int, int], tuple[int, int]]
    expected: tuple[tuple[int, int], tuple[int, int]]

    def finding(self) -> Finding:
        return Finding(self.task, self.words, _shares(self.found), _shares(self.expected))

    def tested(self, tests: int) -> Finding:
        """With the smaller p-value of the two classes, Bonferroni-corrected for ``tests`` tests."""
        p_value = min(fisher_exact(*one, *other) for one, other in zip(self.found, self.expected, strict=True))
        return replace(self.finding(), p_value=min(1.0, p_value * tests))


def predicate_counts(
    task: int, words: list[str], found: tuple[Counts, Counts], expected: tuple[Counts, Counts]
) -> Iterator[PredicateCounts]:
    """One entry per predicate, from the counts of positives and negatives; entry 0 of each is the number of scenes."""
    for place, word in enumerate(words, start=1):
        here, reference = (tuple((int(counts[0]), int(counts[place])) for counts in both) for both in (found, expected))
        yield PredicateCounts(task, word, (here[0], here[1]), (reference[0], reference[1]))


def fisher_exact(total: int, hits: int, other_total: int, other_hits: int) -> float:
    """Two-sided p-value of Fisher's exact test: twice the smaller tail of the hypergeometric distribution, at most 1.

    >>> round(fisher_exact(10, 5, 10, 0), 4)
    0.0325
    """
    both, marked = total + other_total, hits + other_hits
    logs = _log_factorials(both)
    possible = np.arange(max(0, marked - other_total), min(total, marked) + 1)
    chances = np.exp(
        (logs[marked] - logs[possible] - logs[marked - possible])
        + (logs[both - marked] - logs[total - possible] - logs[other_total - marked + possible])
        - (logs[both] - logs[total] - logs[other_total])
    )
    more, fewer = chances[possible >= hits].sum(), chances[possible <= hits].sum()
    return min(1.0, 2 * float(min(more, fewer)))


@lru_cache(maxsize=8)
def _log_factorials(largest: int) -> npt.NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, largest + 1)))])


def _shares(counted: tuple[tuple[int, int], tuple[int, int]]) -> tuple[float, float]:
    (positives, hits), (negatives, other_hits) = counted
    return hits / positives, other_hits / negatives
