"""What defines the classes, for any number of tasks, and how predicates are put together."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.predicates import (
    all_of,
    always,
    any_of,
    class_predicates,
    confounders,
    exactly_one,
    ground_truth,
    n_tasks,
    negation,
    single_pattern,
)
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from tests.scenes.naive import BLUE, METAL, SMALL_CUBE, SPHERE

COLOURS = ("blue", "red", "green", "gray")


def book_of(tasks: int) -> RuleBook:
    return RuleBook((SPHERE,), tuple((ObjectPattern(color=colour),) for colour in COLOURS[:tasks]))


@pytest.mark.parametrize("tasks", [1, 2, 3, 4])
def test_equations_1_and_2_on_every_row_of_the_truth_table(tasks):
    book = book_of(tasks)
    masks = np.arange(1 << (tasks + 1))  # bit 0 is g, bit t is c_t
    g, c = masks & 1 == 1, [(masks >> (task + 1)) & 1 == 1 for task in range(tasks)]
    for task in range(tasks):
        positive, negative = class_predicates(book, "strict", task)
        assert (positive.holds(masks) == (g & c[task])).all()
        assert (negative.holds(masks) == (~g & ~c[task])).all()
        positive, negative = class_predicates(book, "disjoint", task)
        alone = np.array([sum(bool(one[row]) for one in c) == 1 and bool(c[task][row]) for row in masks])
        nothing = np.array([not any(one[row] for one in c) for row in masks])
        assert (positive.holds(masks) == (g & alone)).all()
        assert (negative.holds(masks) == (~g & nothing)).all()
    positive, negative = class_predicates(book, "unconfounded", 0)
    assert (positive.holds(masks) == g).all()
    assert (negative.holds(masks) == ~g).all()


def test_a_rule_of_two_patterns_needs_both():
    book = RuleBook((SPHERE, SMALL_CUBE), ((BLUE, METAL),))
    masks = np.arange(16)
    assert np.flatnonzero(ground_truth(book).holds(masks)).tolist() == [3, 7, 11, 15]
    assert np.flatnonzero(confounders(book)[0].holds(masks)).tolist() == [12, 13, 14, 15]
    assert np.flatnonzero(single_pattern(book, BLUE).holds(masks)).tolist() == [4, 5, 6, 7, 12, 13, 14, 15]


def test_exactly_one_is_not_an_odd_number():
    spurious = confounders(book_of(3))
    masks = np.arange(0, 16, 2)  # without g: c1 is 2, c2 is 4, c3 is 8
    assert masks[exactly_one(spurious).holds(masks)].tolist() == [2, 4, 8]
    assert masks[any_of(spurious).holds(masks)].tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert masks[all_of(spurious).holds(masks)].tolist() == [14]
    assert always().holds(masks).all()


def test_words():
    truth, (blue, metal, large) = ground_truth(PAPER_RULES), confounders(PAPER_RULES)
    both = all_of([truth, any_of([blue, metal])])
    assert (both.formula, both.words) == ("g and (c1 or c2)", "(sphere and small cube) and (blue or metal)")
    assert negation(large).formula == "not c3"
    assert exactly_one([blue, metal, large]).words == "exactly one of blue, metal, large"
    assert any_of([blue]) is blue


@pytest.mark.parametrize(
    ("variant", "task", "message"),
    [
        ("strickt", 0, "unknown variant 'strickt': did you mean 'strict'?"),
        ("strict", 3, "the strict sets have no task 3: give 0 to 2"),
        ("disjoint", -1, "have no task -1"),
        ("unconfounded", 1, "the unconfounded sets have no task 1: give 0"),
    ],
)
def test_what_there_is_not(variant, task, message):
    with pytest.raises(InputError) as caught:
        class_predicates(PAPER_RULES, variant, task)
    assert message in str(caught.value)


def test_number_of_tasks():
    assert [n_tasks(book_of(4), variant) for variant in ("strict", "disjoint", "unconfounded")] == [4, 4, 1]
