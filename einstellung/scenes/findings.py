"""How well one predicate separates the classes of a task, found in a set of scenes beside what their law predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from einstellung.scenes.exact_test import chance_of_difference
from einstellung.scenes.small_predicates import Counts


@dataclass(frozen=True)
class Finding:
    """The share of positives and of negatives in which a predicate holds, found and expected.

    >>> hidden = Finding(0, "2 identical objects", found=(1.0, 0.1), expected=(0.06, 0.1))
    >>> round(hidden.accuracy, 2), round(hidden.expected_accuracy, 2)
    (0.95, 0.52)
    """

    task: int
    words: str
    found: tuple[float, float]
    expected: tuple[float, float]
    chance: float | None = None  # of such a difference in one of the classes; None: not asked for

    @property
    def accuracy(self) -> float:
        """Of the predicate or its negation as a classifier, both classes weighing the same."""
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
            "p_value": self.chance,
        }


@dataclass(frozen=True)
class Tally:
    """One predicate counted: (scenes, hits) of positives and of negatives, in the set and in the scenes of comparison."""

    task: int
    words: str
    found: tuple[tuple[int, int], tuple[int, int]]
    expected: tuple[tuple[int, int], tuple[int, int]]

    def finding(self) -> Finding:
        return Finding(self.task, self.words, _shares(self.found), _shares(self.expected))

    def tested(self, tests: int) -> Finding:
        """With the chance of the more surprising of the two classes, corrected for the number of ``tests``."""
        chance = min(chance_of_difference(*one, *other) for one, other in zip(self.found, self.expected, strict=True))
        return replace(self.finding(), chance=min(1.0, chance * tests))


def tallies(
    task: int, words: list[str], found: tuple[Counts, Counts], expected: tuple[Counts, Counts]
) -> Iterator[Tally]:
    """One for every predicate, from counts of positives and negatives that begin with the number of scenes."""
    for place, word in enumerate(words, start=1):
        here, law = (tuple((int(counts[0]), int(counts[place])) for counts in both) for both in (found, expected))
        yield Tally(task, word, (here[0], here[1]), (law[0], law[1]))


def _shares(counted: tuple[tuple[int, int], tuple[int, int]]) -> tuple[float, float]:
    (positives, hits), (negatives, other_hits) = counted
    return hits / positives, other_hits / negatives
