"""Unintended rules in a set of scenes: small predicates that separate the classes better than the rules alone make them.

Every small predicate is counted in both classes of every task, and in scenes drawn afresh from the exact law of the same
class. It is flagged where it tells the classes apart better than the law predicts by more than a margin, and where in one of
the classes it is found so much more or less often that chance is no explanation (an exact test of two proportions, with
Bonferroni's correction for everything that is tested).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.errors import InputError
from einstellung.scenes.attributes import Codes
from einstellung.scenes.findings import Finding, Tally, tallies
from einstellung.scenes.predicates import class_predicates, n_tasks
from einstellung.scenes.rule_book import RuleBook
from einstellung.scenes.sampling import class_law
from einstellung.scenes.scene import Floats
from einstellung.scenes.small_predicates import Counts, attribute_hits, number_hits, thresholds_of

LABELS = (1, 0)
_NARROWEST_FIRST = ("disjoint", "strict", "unconfounded")
_REFERENCE = 20_000  # scenes of each class that are drawn for comparison
_SEED = 20_240_206  # of the comparison: an audit says the same every time


@dataclass(frozen=True)
class AuditedScenes:
    """Scenes with their labels and tasks; ``numbers`` are whatever else is known of each (see ``layout_numbers``)."""

    attributes: Codes
    labels: npt.NDArray[np.int64]
    tasks: npt.NDArray[np.int64]
    places: Codes | None = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, task: int, label: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero((self.tasks == task) & (self.labels == label))


@dataclass(frozen=True)
class Audit:
    """What was found. ``broken`` counts the scenes that do not obey the rule of their class, by (task, label)."""

    variant: str
    scenes: int
    predicates: int
    broken: dict[tuple[int, int], int]
    unintended: tuple[Finding, ...]
    strongest: tuple[Finding, ...]
    not_compared: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.broken and not self.unintended

    def to_dict(self) -> dict[str, Any]:
        broken = [{"task": task, "label": label, "scenes": number} for (task, label), number in self.broken.items()]
        return {
            "passed": self.passed,
            "variant": self.variant,
            "scenes": self.scenes,
            "predicates": self.predicates,
            "broken": broken,
            "unintended": [one.to_dict() for one in self.unintended],
            "strongest": [one.to_dict() for one in self.strongest],
            "not_compared": list(self.not_compared),
        }


def audit(
    book: RuleBook,
    scenes: AuditedScenes,
    variant: str | None = None,
    laid_out: AuditedScenes | None = None,
    *,
    margin: float = 0.02,
    level: float = 0.01,
    listed: int = 5,
) -> Audit:
    """Search ``scenes`` for rules that nobody intended.

    ``variant`` None takes the one that the scenes obey. ``laid_out`` are scenes drawn afresh that have the same kinds of
    ``numbers``; numbers without such a counterpart are not compared. ``listed`` is how many of the strongest
    predicates of every task are told.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> audit(PAPER_RULES, draw_scenes(PAPER_RULES, "strict", [0, 1, 2], count=300, seed=1)).passed
    True
    """
    _check(book, scenes)
    variant = variant or best_variant(book, scenes)
    tasks = [task for task in np.unique(scenes.tasks).tolist() if task < n_tasks(book, variant)]
    names = [name for name in scenes.numbers if laid_out is not None and name in laid_out.numbers]
    counted: list[Tally] = []
    for task in tasks:
        counted += _attributes_compared(book, scenes, variant, task)
        if laid_out is not None:
            counted += _numbers_compared(scenes, laid_out, task, names)
    suspicious = [one for one in counted if one.finding().excess > margin]
    tested = [one.tested(len(LABELS) * len(counted)) for one in suspicious]
    unintended = [one for one in tested if one.chance is not None and one.chance < level]
    return Audit(
        variant=variant,
        scenes=len(scenes),
        predicates=len(counted) // max(1, len(tasks)),
        broken=broken_rules(book, scenes, variant),
        unintended=tuple(sorted(unintended, key=lambda one: -one.excess)),
        strongest=tuple(finding for task in tasks for finding in _strongest(counted, task)[:listed]),
        not_compared=tuple(name for name in scenes.numbers if name not in names),
    )


def draw_scenes(book: RuleBook, variant: str, tasks: Sequence[int], count: int, seed: int) -> AuditedScenes:
    """``count`` scenes of each class of the tasks, from their exact law: attributes, and places where the rules use them."""
    generator = np.random.Generator(np.random.PCG64(seed))
    cells = [(task, label) for task in tasks for label in LABELS]
    laws = [class_law(book, variant, task, label) for task, label in cells]
    drawn = [law.scenes(generator.integers(law.size, size=count)) for law in laws]
    return AuditedScenes(
        attributes=np.concatenate([attributes for attributes, _ in drawn]),
        labels=np.repeat([label for _, label in cells], count),
        tasks=np.repeat([task for task, _ in cells], count),
        places=np.concatenate([places for _, places in drawn if places is not None]) if book.uses_places else None,
    )


def broken_rules(book: RuleBook, scenes: AuditedScenes, variant: str) -> dict[tuple[int, int], int]:
    """How many scenes of every class (task, label) do not obey its rule; classes without such are left out.

    A task that the variant does not have is broken as a whole.
    """
    masks = book.masks(scenes.attributes, scenes.places)
    broken: dict[tuple[int, int], int] = {}
    for task in np.unique(scenes.tasks).tolist():
        for label in LABELS:
            members = masks[scenes.rows(task, label)]
            obeyed = 0
            if task < n_tasks(book, variant):
                obeyed = int(class_predicates(book, variant, task)[1 - label].holds(members).sum())
            if obeyed < len(members):
                broken[task, label] = len(members) - obeyed
    return broken


def best_variant(book: RuleBook, scenes: AuditedScenes) -> str:
    """The variant that most scenes obey; of several, the narrowest: what is disjoint is strict too."""
    return min(_NARROWEST_FIRST, key=lambda variant: sum(broken_rules(book, scenes, variant).values()))


def _strongest(counted: Sequence[Tally], task: int) -> list[Finding]:
    return sorted((one.finding() for one in counted if one.task == task), key=lambda one: -one.accuracy)


def _check(book: RuleBook, scenes: AuditedScenes) -> None:
    if scenes.attributes.shape[1] != book.objects:
        raise InputError(
            f"the scenes have {scenes.attributes.shape[1]} objects and the rules speak of {book.objects}: give the rules "
            "that they were made with"
        )
    for task in np.unique(scenes.tasks).tolist():
        for label in LABELS:
            if not len(scenes.rows(task, label)):
                raise InputError(f"task {task} has no scene with label {label}: an audit compares both classes")


def _attributes_compared(book: RuleBook, scenes: AuditedScenes, variant: str, task: int) -> Iterator[Tally]:
    def counts(label: int) -> Counts:
        rows = scenes.rows(task, label)
        places = scenes.places[rows] if book.uses_places and scenes.places is not None else None
        return _counts(len(rows), attribute_hits(scenes.attributes[rows], places))

    words, _ = attribute_hits(*class_law(book, variant, task, 1).scenes(np.zeros(1, dtype=np.int64)))
    expected = (_law_counts(book, variant, task, 1), _law_counts(book, variant, task, 0))
    return tallies(task, words, (counts(1), counts(0)), expected)


@lru_cache(maxsize=64)
def _law_counts(book: RuleBook, variant: str, task: int, label: int) -> Counts:
    law = class_law(book, variant, task, label)
    ranks = np.random.default_rng([_SEED, task, label]).integers(law.size, size=_REFERENCE)
    return _counts(_REFERENCE, attribute_hits(*law.scenes(ranks)))


def _numbers_compared(
    scenes: AuditedScenes, laid_out: AuditedScenes, task: int, names: Sequence[str]
) -> Iterator[Tally]:
    of_task = laid_out.tasks == task
    thresholds = thresholds_of({name: laid_out.numbers[name][of_task] for name in names})

    def counts(some: AuditedScenes, label: int) -> Counts:
        rows = some.rows(task, label)
        return _counts(len(rows), number_hits({name: some.numbers[name][rows] for name in names}, thresholds))

    words, _ = number_hits({name: laid_out.numbers[name] for name in names}, thresholds)
    found, expected = ((counts(some, 1), counts(some, 0)) for some in (scenes, laid_out))
    return tallies(task, words, found, expected)


def _counts(scenes: int, hits: tuple[list[str], Counts]) -> Counts:
    return np.concatenate([[scenes], hits[1]])
