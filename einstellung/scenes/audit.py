"""Audit a set of scenes for unintended rules: small predicates that separate the classes better than the rules explain.

Every small predicate is counted in both classes of every task, and in fresh scenes drawn from the exact distribution of the same
class. A predicate is flagged if it separates the classes better than expected by more than a margin, and if its frequency in one
of the classes differs significantly from the expected one (Fisher's exact test, Bonferroni-corrected for all tests).

A probe of positions, counts and areas (:mod:`einstellung.scenes.cue_probe`) finds what no single predicate shows.
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
from einstellung.scenes.cue_probe import AREAS, POSITIONS, CueProbe, Features, LabelledFeatures, probe_cues
from einstellung.scenes.findings import Finding, PredicateCounts, predicate_counts
from einstellung.scenes.predicates import class_predicates, n_tasks
from einstellung.scenes.rule_book import RuleBook
from einstellung.scenes.sampling import class_distribution
from einstellung.scenes.scene import Floats
from einstellung.scenes.small_predicates import Counts, attribute_hits, statistic_hits, thresholds_of

LABELS = (1, 0)
_NARROWEST_FIRST = ("disjoint", "strict", "unconfounded")
_REFERENCE_SCENES = 20_000  # scenes drawn per class for comparison
_SEED = 20_240_206  # of the comparison: an audit is deterministic


@dataclass(frozen=True)
class AuditedScenes:
    """Scenes with labels and tasks.

    ``statistics`` are further numbers about each scene (see ``layout_statistics``), ``features`` what the probe reads.
    """

    attributes: Codes
    labels: npt.NDArray[np.int64]
    tasks: npt.NDArray[np.int64]
    places: Codes | None = None
    statistics: Mapping[str, Floats] = field(default_factory=dict)
    features: Features = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, task: int, label: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero((self.tasks == task) & (self.labels == label))

    def labelled_features(self, tasks: Sequence[int]) -> dict[int, LabelledFeatures]:
        members = {task: self.tasks == task for task in tasks}
        return {
            task: LabelledFeatures({cue: values[rows] for cue, values in self.features.items()}, self.labels[rows])
            for task, rows in members.items()
        }


@dataclass(frozen=True)
class Audit:
    """The result of an audit. ``broken`` counts the scenes that violate the rule of their class, by (task, label)."""

    variant: str
    scenes: int
    predicates: int
    broken: dict[tuple[int, int], int]
    unintended: tuple[Finding, ...]
    strongest: tuple[Finding, ...]
    not_compared: tuple[str, ...]
    probes: tuple[CueProbe, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.broken and not self.unintended and not any(one.found for one in self.probes)

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
            "probes": [one.to_dict() for one in self.probes],
        }


def audit(
    book: RuleBook,
    scenes: AuditedScenes,
    variant: str | None = None,
    reference: AuditedScenes | None = None,
    *,
    margin: float = 0.02,
    level: float = 0.01,
    top: int = 5,
) -> Audit:
    """Search ``scenes`` for unintended rules.

    ``variant`` None: the one the scenes satisfy. ``reference``: freshly drawn scenes with the same ``statistics``; statistics
    without a reference are not compared. ``top``: how many of the strongest predicates of each task are listed.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> audit(PAPER_RULES, draw_scenes(PAPER_RULES, "strict", [0, 1, 2], count=300, seed=1)).passed
    True
    """
    _check(book, scenes)
    variant = variant or best_variant(book, scenes)
    tasks = [task for task in np.unique(scenes.tasks).tolist() if task < n_tasks(book, variant)]
    names = [name for name in scenes.statistics if reference is not None and name in reference.statistics]
    counted: list[PredicateCounts] = []
    for task in tasks:
        counted += _compare_attributes(book, scenes, variant, task)
        if reference is not None:
            counted += _compare_statistics(scenes, reference, task, names)
    probes = probe_cues(
        scenes.labelled_features(tasks),
        explained=(AREAS, POSITIONS) if book.uses_places else (AREAS,),
        reference=None if reference is None else reference.labelled_features(tasks),
    )
    suspicious = [one for one in counted if one.finding().excess > margin]
    tested = [one.tested(len(LABELS) * len(counted)) for one in suspicious]
    unintended = [one for one in tested if one.p_value is not None and one.p_value < level]
    return Audit(
        variant=variant,
        scenes=len(scenes),
        predicates=len(counted) // max(1, len(tasks)),
        broken=broken_rules(book, scenes, variant),
        unintended=tuple(sorted(unintended, key=lambda one: -one.excess)),
        strongest=tuple(finding for task in tasks for finding in _strongest(counted, task)[:top]),
        not_compared=tuple(name for name in scenes.statistics if name not in names),
        probes=probes,
    )


def draw_scenes(book: RuleBook, variant: str, tasks: Sequence[int], count: int, seed: int) -> AuditedScenes:
    """Draw ``count`` scenes per class and task from their exact distribution: attributes, and places where the rules use them."""
    generator = np.random.Generator(np.random.PCG64(seed))
    cells = [(task, label) for task in tasks for label in LABELS]
    distributions = [class_distribution(book, variant, task, label) for task, label in cells]
    drawn = [distribution.scenes(generator.integers(distribution.size, size=count)) for distribution in distributions]
    return AuditedScenes(
        attributes=np.concatenate([attributes for attributes, _ in drawn]),
        labels=np.repeat([label for _, label in cells], count),
        tasks=np.repeat([task for task, _ in cells], count),
        places=np.concatenate([places for _, places in drawn if places is not None]) if book.uses_places else None,
    )


def broken_rules(book: RuleBook, scenes: AuditedScenes, variant: str) -> dict[tuple[int, int], int]:
    """How many scenes violate the rule of their class (task, label); classes without any are omitted.

    If the variant does not have a task, all its scenes count as broken.
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
    """The variant that most scenes satisfy; on a tie the narrowest, as disjoint scenes are strict too."""
    return min(_NARROWEST_FIRST, key=lambda variant: sum(broken_rules(book, scenes, variant).values()))


def _strongest(counted: Sequence[PredicateCounts], task: int) -> list[Finding]:
    return sorted((one.finding() for one in counted if one.task == task), key=lambda one: -one.accuracy)


def _check(book: RuleBook, scenes: AuditedScenes) -> None:
    if scenes.attributes.shape[1] != book.objects:
        raise InputError(
            f"the scenes have {scenes.attributes.shape[1]} objects, the rules are for {book.objects}: give the rules the "
            "scenes were made with"
        )
    for task in np.unique(scenes.tasks).tolist():
        for label in LABELS:
            if not len(scenes.rows(task, label)):
                raise InputError(f"task {task} has no scene with label {label}: an audit needs both classes")


def _compare_attributes(book: RuleBook, scenes: AuditedScenes, variant: str, task: int) -> Iterator[PredicateCounts]:
    def counts(label: int) -> Counts:
        rows = scenes.rows(task, label)
        places = scenes.places[rows] if book.uses_places and scenes.places is not None else None
        return _counts(len(rows), attribute_hits(scenes.attributes[rows], places))

    words, _ = attribute_hits(*class_distribution(book, variant, task, 1).scenes(np.zeros(1, dtype=np.int64)))
    expected = (_reference_counts(book, variant, task, 1), _reference_counts(book, variant, task, 0))
    return predicate_counts(task, words, (counts(1), counts(0)), expected)


@lru_cache(maxsize=64)
def _reference_counts(book: RuleBook, variant: str, task: int, label: int) -> Counts:
    distribution = class_distribution(book, variant, task, label)
    ranks = np.random.default_rng([_SEED, task, label]).integers(distribution.size, size=_REFERENCE_SCENES)
    return _counts(_REFERENCE_SCENES, attribute_hits(*distribution.scenes(ranks)))


def _compare_statistics(
    scenes: AuditedScenes, reference: AuditedScenes, task: int, names: Sequence[str]
) -> Iterator[PredicateCounts]:
    of_task = reference.tasks == task
    thresholds = thresholds_of({name: reference.statistics[name][of_task] for name in names})

    def counts(some: AuditedScenes, label: int) -> Counts:
        rows = some.rows(task, label)
        return _counts(len(rows), statistic_hits({name: some.statistics[name][rows] for name in names}, thresholds))

    words, _ = statistic_hits({name: reference.statistics[name] for name in names}, thresholds)
    found, expected = ((counts(some, 1), counts(some, 0)) for some in (scenes, reference))
    return predicate_counts(task, words, found, expected)


def _counts(scenes: int, hits: tuple[list[str], Counts]) -> Counts:
    return np.concatenate([[scenes], hits[1]])
