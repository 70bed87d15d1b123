"""Predicates over scenes, built from the rules: candidate decision rules, and the definitions of a task's two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.scenes.rule_book import Bools, Masks, ObjectPattern, RuleBook

VARIANTS = ("strict", "disjoint", "unconfounded")


@dataclass(frozen=True)
class Predicate:
    """A predicate over scene masks, as a formula (``g and c1``) and in words (``sphere and blue``)."""

    formula: str
    words: str
    holds: Callable[[Masks], Bools]


def always() -> Predicate:
    return Predicate("true", "always", lambda masks: np.ones(masks.shape, dtype=bool))


def ground_truth(book: RuleBook) -> Predicate:
    return _atom("g", book.ground_truth_words(), book.mask_of(book.ground_truth))


def confounder(book: RuleBook, task: int) -> Predicate:
    """c1 is the confounder of task 0.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> blue = confounder(PAPER_RULES, 0)
    >>> blue.formula, blue.words
    ('c1', 'blue')
    """
    return _atom(f"c{task + 1}", book.confounder_words(task), book.mask_of(book.confounders[task]))


def confounders(book: RuleBook) -> list[Predicate]:
    return [confounder(book, task) for task in range(book.tasks)]


def single_pattern(book: RuleBook, pattern: ObjectPattern) -> Predicate:
    """Some object matches this pattern of the rules."""
    return _atom(f"'{pattern.words}'", pattern.words, book.mask_of((pattern,)))


def _atom(formula: str, words: str, needed: int) -> Predicate:
    return Predicate(formula, words, lambda masks: np.asarray(masks & needed == needed))


def negation(part: Predicate) -> Predicate:
    """
    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> negation(ground_truth(PAPER_RULES)).words
    'not (sphere and small cube)'
    """
    return Predicate(f"not {_grouped(part.formula)}", f"not {_grouped(part.words)}", lambda masks: ~part.holds(masks))


def all_of(parts: Sequence[Predicate]) -> Predicate:
    return _joined("and", parts, np.logical_and.reduce)


def any_of(parts: Sequence[Predicate]) -> Predicate:
    """
    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> any_of([ground_truth(PAPER_RULES), any_of(confounders(PAPER_RULES))]).formula
    'g or (c1 or c2 or c3)'
    """
    return _joined("or", parts, np.logical_or.reduce)


def exactly_one(parts: Sequence[Predicate]) -> Predicate:
    """The exclusive disjunction of the paper's equation 5: exactly one of the parts holds."""
    return Predicate(
        f"exactly one of {', '.join(part.formula for part in parts)}",
        f"exactly one of {', '.join(_grouped(part.words) for part in parts)}",
        lambda masks: np.asarray(np.sum([part.holds(masks) for part in parts], axis=0) == 1),
    )


def _joined(word: str, parts: Sequence[Predicate], combine: Callable[[list[Bools]], Bools]) -> Predicate:
    if len(parts) == 1:
        return parts[0]
    return Predicate(
        f" {word} ".join(_grouped(part.formula) for part in parts),
        f" {word} ".join(_grouped(part.words) for part in parts),
        lambda masks: np.asarray(combine([part.holds(masks) for part in parts])),
    )


def _grouped(text: str) -> str:
    return f"({text})" if " and " in text or " or " in text else text


def class_predicates(book: RuleBook, variant: str, task: int) -> tuple[Predicate, Predicate]:
    """The predicates of a task's positives and negatives: p_t and n_t of the paper's equations 1 and 2.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> [one.formula for one in class_predicates(PAPER_RULES, "disjoint", 0)]
    ['g and c1 and not c2 and not c3', 'not (g or c1 or c2 or c3)']
    """
    if variant not in VARIANTS:
        raise InputError(f"unknown variant '{variant}': {suggestion(variant, VARIANTS)}")
    tasks = n_tasks(book, variant)
    if not 0 <= task < tasks:
        raise InputError(f"the {variant} sets have no task {task}: give {'0' if tasks == 1 else f'0 to {tasks - 1}'}")
    truth = ground_truth(book)
    if variant == "unconfounded":
        return truth, negation(truth)
    spurious = confounders(book)
    if variant == "strict":
        return all_of([truth, spurious[task]]), negation(any_of([truth, spurious[task]]))
    others = [negation(one) for number, one in enumerate(spurious) if number != task]
    return all_of([truth, spurious[task], *others]), negation(any_of([truth, *spurious]))


def n_tasks(book: RuleBook, variant: str) -> int:
    """Confounded variants have one task per confounder; the unconfounded variant has a single task."""
    return 1 if variant == "unconfounded" else book.tasks
