"""Which simple predicates solve which task under given rules, computed exactly over all scenes.

Every task is solved by the ground truth g and by its own confounder. A predicate that solves several tasks must hold in all their
positives and in none of their negatives, so it lies between two bounds (equations 4 and 5 of Busch et al., 'Where is the
Truth?'). Where the bounds differ, the tasks do not determine the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from einstellung.scenes.counting import MaskCounts, mask_counts
from einstellung.scenes.predicates import (
    Predicate,
    all_of,
    always,
    any_of,
    class_predicates,
    confounders,
    exactly_one,
    ground_truth,
    single_pattern,
)
from einstellung.scenes.rule_book import Bools, RuleBook

CONFOUNDED = ("strict", "disjoint")


@dataclass(frozen=True)
class PredicateAccuracy:
    """How often a predicate is right in each class; ``accuracy`` is their mean."""

    positive: Fraction
    negative: Fraction

    @property
    def accuracy(self) -> Fraction:
        return (self.positive + self.negative) / 2

    @property
    def solves(self) -> bool:
        return self.accuracy == 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "positive": float(self.positive),
            "negative": float(self.negative),
            "accuracy": float(self.accuracy),
            "solves": self.solves,
        }


@dataclass(frozen=True)
class PredicateResult:
    """The accuracy of one predicate on every task, on all tasks together and on the unconfounded set."""

    predicate: Predicate
    tasks: tuple[PredicateAccuracy, ...]
    joint: PredicateAccuracy
    unconfounded: PredicateAccuracy

    def to_dict(self) -> dict[str, Any]:
        return {
            "formula": self.predicate.formula,
            "words": self.predicate.words,
            "tasks": [one.to_dict() for one in self.tasks],
            "joint": self.joint.to_dict(),
            "unconfounded": self.unconfounded.to_dict(),
        }


@dataclass(frozen=True)
class Undetermined:
    """The share of unconfounded scenes whose label is not determined by solving the first ``tasks`` tasks together."""

    tasks: int
    positive: Fraction
    negative: Fraction

    @property
    def only_g(self) -> bool:
        """Whether g is the only predicate that solves these tasks together."""
        return self.positive == self.negative == 0

    @property
    def worst(self) -> Fraction:
        """The lowest unconfounded accuracy of a predicate that solves these tasks."""
        return 1 - (self.positive + self.negative) / 2

    def to_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "positive": float(self.positive),
            "negative": float(self.negative),
            "worst_unconfounded_accuracy": float(self.worst),
            "only_ground_truth": self.only_g,
        }


@dataclass(frozen=True)
class VariantLogic:
    """The analysis of one variant. ``impossible`` names a class without scenes; everything else is then empty."""

    variant: str
    impossible: str | None
    results: tuple[PredicateResult, ...]
    undetermined: tuple[Undetermined, ...]
    best_confounder_rule: Fraction | None

    def result(self, formula: str) -> PredicateResult:
        return next(one for one in self.results if one.predicate.formula == formula)


@dataclass(frozen=True)
class Logic:
    """The analysis of a rule book.

    ``exhaustive``: every scene has some confounder. ``together_impossible``: no scene has all of them. If both hold, g is the
    only predicate that solves all strict tasks.
    """

    book: RuleBook
    scenes: int
    ground_truth_share: Fraction
    confounder_shares: tuple[Fraction, ...]
    exhaustive: bool
    together_impossible: bool
    variants: tuple[VariantLogic, ...]

    def variant(self, name: str) -> VariantLogic:
        return next(one for one in self.variants if one.variant == name)


def analyse(book: RuleBook) -> Logic:
    """Compute the exact accuracy of each simple predicate over all scenes, without sampling.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> logic = analyse(PAPER_RULES)
    >>> any_confounder = "c1 or c2 or c3"
    >>> logic.variant("disjoint").result(any_confounder).joint.solves
    True
    >>> logic.variant("strict").result(any_confounder).joint.solves
    False
    """
    counts = mask_counts(book)
    truth, confounding = ground_truth(book).holds(counts.masks), [one.holds(counts.masks) for one in confounders(book)]
    everywhere = np.ones_like(truth)
    return Logic(
        book=book,
        scenes=counts.total,
        ground_truth_share=counts.share(truth, everywhere),
        confounder_shares=tuple(counts.share(one, everywhere) for one in confounding),
        exhaustive=bool(np.any(confounding, axis=0).all()),
        together_impossible=not np.all(confounding, axis=0).any(),
        variants=tuple(_variant(book, name, counts) for name in CONFOUNDED),
    )


def candidates(book: RuleBook) -> list[Predicate]:
    """The simple predicates that a learner might learn, without duplicates."""
    truth, confounding = ground_truth(book), confounders(book)
    some, every = any_of(confounding), all_of(confounding)
    rules = [truth, *confounding]
    listed = [
        *rules,
        *(
            any_of(confounding[:number]) for number in range(2, book.tasks)
        ),  # what a learner of the first tasks may have learned
        some,
        every,
        *([exactly_one(confounding)] if book.tasks > 1 else []),
        *(all_of([truth, one]) for one in confounding),
        *(any_of([truth, one]) for one in confounding),
        all_of([truth, some]),
        any_of([truth, every]),
        any_of([truth, some]),
        *(single_pattern(book, one) for one in book.patterns if one.words not in [rule.words for rule in rules]),
        always(),
    ]
    return list({predicate.formula: predicate for predicate in listed}.values())


def _variant(book: RuleBook, name: str, counts: MaskCounts) -> VariantLogic:
    pairs = [class_predicates(book, name, task) for task in range(book.tasks)]
    classes = [(positive.holds(counts.masks), negative.holds(counts.masks)) for positive, negative in pairs]
    for task, (pair, held) in enumerate(zip(pairs, classes, strict=True)):
        for kind, predicate, members in zip(("positives", "negatives"), pair, held, strict=True):
            if not members.any():
                return VariantLogic(name, f"T{task + 1} has no {kind}: no scene is '{predicate.words}'", (), (), None)
    truth = ground_truth(book).holds(counts.masks)
    results = tuple(_evaluate(predicate, counts, classes, truth) for predicate in candidates(book))
    undetermined = tuple(_undetermined(counts, classes[:number], truth) for number in range(1, book.tasks + 1))
    return VariantLogic(name, None, results, undetermined, _best_confounder_rule(book, counts, classes))


def _evaluate(
    predicate: Predicate, counts: MaskCounts, classes: list[tuple[Bools, Bools]], truth: Bools
) -> PredicateResult:
    holds = predicate.holds(counts.masks)

    def accuracy_of(positives: Bools, negatives: Bools) -> PredicateAccuracy:
        return PredicateAccuracy(counts.share(holds, positives), counts.share(~holds, negatives))

    tasks = tuple(accuracy_of(*pair) for pair in classes)
    joint = PredicateAccuracy(
        sum((one.positive for one in tasks), Fraction(0)) / len(tasks),
        sum((one.negative for one in tasks), Fraction(0)) / len(tasks),
    )
    return PredicateResult(predicate, tasks, joint, accuracy_of(truth, ~truth))


def _undetermined(counts: MaskCounts, classes: list[tuple[Bools, Bools]], truth: Bools) -> Undetermined:
    must = np.any([positives for positives, _ in classes], axis=0)
    must_not = np.any([negatives for _, negatives in classes], axis=0)
    return Undetermined(len(classes), counts.share(~must, truth), counts.share(~must_not, ~truth))


def _best_confounder_rule(book: RuleBook, counts: MaskCounts, classes: list[tuple[Bools, Bools]]) -> Fraction:
    """The highest joint accuracy of any rule that only uses which confounders are present."""
    present = np.stack([predicate.holds(counts.masks) for predicate in confounders(book)], axis=1)
    kinds, group = np.unique(present, axis=0, return_inverse=True)
    group = group.reshape(-1)  # numpy 2.0 returns a second axis

    def numbers(members: Bools) -> Any:
        """How many scenes of a class have each set of confounders, as Python integers, which do not overflow."""
        found = np.zeros(len(kinds), dtype=np.int64)
        np.add.at(found, group[members], counts.counts[members])
        return found.astype(object)

    sizes = [[counts.number(members) for members in pair] for pair in classes]
    common = math.lcm(*(size for pair in sizes for size in pair))
    weights = [
        sum(numbers(pair[label]) * (common // size[label]) for pair, size in zip(classes, sizes, strict=True))
        for label in range(2)
    ]
    return Fraction(int(np.maximum(*weights).sum()), common * 2 * len(classes))
