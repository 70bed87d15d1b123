"""What the rules allow a learner to believe: which simple predicates solve which task, computed exactly over all scenes.

Every task is solved by g and by its own confounder. A predicate r that solves several tasks must hold in all their positives
and in none of their negatives, so it lies between two bounds (equations 4 and 5 of Busch et al., 'Where is the Truth?').
Where the bounds differ, the tasks leave the answer open.
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
class Answers:
    """How often a predicate is right, by class; accuracy gives both classes the same weight."""

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
class Standing:
    """One predicate on every task, on all tasks together and on the unconfounded set."""

    predicate: Predicate
    tasks: tuple[Answers, ...]
    joint: Answers
    unconfounded: Answers

    def to_dict(self) -> dict[str, Any]:
        return {
            "formula": self.predicate.formula,
            "words": self.predicate.words,
            "tasks": [answers.to_dict() for answers in self.tasks],
            "joint": self.joint.to_dict(),
            "unconfounded": self.unconfounded.to_dict(),
        }


@dataclass(frozen=True)
class LeftOpen:
    """The share of unconfounded scenes that the first ``tasks`` tasks, solved together, say nothing about."""

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
    """What holds in one variant. ``impossible`` says which class has no scene; then there is nothing else."""

    variant: str
    impossible: str | None
    standings: tuple[Standing, ...]
    left_open: tuple[LeftOpen, ...]
    best_without_g: Fraction | None

    def standing(self, formula: str) -> Standing:
        return next(one for one in self.standings if one.predicate.formula == formula)


@dataclass(frozen=True)
class Logic:
    """The whole analysis of a book of rules.

    ``exhaustive``: every scene has some confounder; ``together_impossible``: no scene has all of them. With both, g is the
    only joint solution of the strict tasks.
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
    """Compute, over all scenes and without drawing any, what each simple predicate gets right.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> logic = analyse(PAPER_RULES)
    >>> any_confounder = "c1 or c2 or c3"
    >>> logic.variant("disjoint").standing(any_confounder).joint.solves
    True
    >>> logic.variant("strict").standing(any_confounder).joint.solves
    False
    """
    counted = mask_counts(book)
    truth, spurious = ground_truth(book).holds(counted.masks), [one.holds(counted.masks) for one in confounders(book)]
    everywhere = np.ones_like(truth)
    return Logic(
        book=book,
        scenes=counted.total,
        ground_truth_share=counted.share(truth, everywhere),
        confounder_shares=tuple(counted.share(one, everywhere) for one in spurious),
        exhaustive=bool(np.any(spurious, axis=0).all()),
        together_impossible=not np.all(spurious, axis=0).any(),
        variants=tuple(_variant(book, name, counted) for name in CONFOUNDED),
    )


def candidates(book: RuleBook) -> list[Predicate]:
    """The simple predicates that a learner might settle on; two that say the same are listed once."""
    truth, spurious = ground_truth(book), confounders(book)
    some, every = any_of(spurious), all_of(spurious)
    rules = [truth, *spurious]
    listed = [
        *rules,
        *(any_of(spurious[:number]) for number in range(2, book.tasks)),  # what a learner of the first tasks may hold
        some,
        every,
        *([exactly_one(spurious)] if book.tasks > 1 else []),
        *(all_of([truth, one]) for one in spurious),
        *(any_of([truth, one]) for one in spurious),
        all_of([truth, some]),
        any_of([truth, every]),
        any_of([truth, some]),
        *(single_pattern(book, one) for one in book.patterns if one.words not in [rule.words for rule in rules]),
        always(),
    ]
    return list({predicate.formula: predicate for predicate in listed}.values())


def _variant(book: RuleBook, name: str, counted: MaskCounts) -> VariantLogic:
    pairs = [class_predicates(book, name, task) for task in range(book.tasks)]
    classes = [(positive.holds(counted.masks), negative.holds(counted.masks)) for positive, negative in pairs]
    for task, (pair, held) in enumerate(zip(pairs, classes, strict=True)):
        for kind, predicate, members in zip(("positives", "negatives"), pair, held, strict=True):
            if not members.any():
                return VariantLogic(name, f"T{task + 1} has no {kind}: no scene is '{predicate.words}'", (), (), None)
    truth = ground_truth(book).holds(counted.masks)
    standings = tuple(_standing(predicate, counted, classes, truth) for predicate in candidates(book))
    left_open = tuple(_left_open(counted, classes[:number], truth) for number in range(1, book.tasks + 1))
    return VariantLogic(name, None, standings, left_open, _best_without_g(book, counted, classes))


def _standing(predicate: Predicate, counted: MaskCounts, classes: list[tuple[Bools, Bools]], truth: Bools) -> Standing:
    holds = predicate.holds(counted.masks)

    def answers(positives: Bools, negatives: Bools) -> Answers:
        return Answers(counted.share(holds, positives), counted.share(~holds, negatives))

    tasks = tuple(answers(*pair) for pair in classes)
    joint = Answers(
        sum((one.positive for one in tasks), Fraction(0)) / len(tasks),
        sum((one.negative for one in tasks), Fraction(0)) / len(tasks),
    )
    return Standing(predicate, tasks, joint, answers(truth, ~truth))


def _left_open(counted: MaskCounts, classes: list[tuple[Bools, Bools]], truth: Bools) -> LeftOpen:
    must = np.any([positives for positives, _ in classes], axis=0)
    must_not = np.any([negatives for _, negatives in classes], axis=0)
    return LeftOpen(len(classes), counted.share(~must, truth), counted.share(~must_not, ~truth))


def _best_without_g(book: RuleBook, counted: MaskCounts, classes: list[tuple[Bools, Bools]]) -> Fraction:
    """The highest accuracy on all tasks together of any rule that looks at nothing but which confounders are there."""
    present = np.stack([predicate.holds(counted.masks) for predicate in confounders(book)], axis=1)
    kinds, group = np.unique(present, axis=0, return_inverse=True)
    group = group.reshape(-1)  # one release of numpy gives it a second axis

    def numbers(members: Bools) -> Any:
        """Of a class, how many scenes have each of the sets of confounders: Python's integers, which have no largest one."""
        found = np.zeros(len(kinds), dtype=np.int64)
        np.add.at(found, group[members], counted.counts[members])
        return found.astype(object)

    sizes = [[counted.number(members) for members in pair] for pair in classes]
    common = math.lcm(*(size for pair in sizes for size in pair))
    weights = [
        sum(numbers(pair[label]) * (common // size[label]) for pair, size in zip(classes, sizes, strict=True))
        for label in range(2)
    ]
    return Fraction(int(np.maximum(*weights).sum()), common * 2 * len(classes))
