"""The analysis against looking at every scene, against the paper's section 3.1, and in words."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from einstellung.scenes.logic import analyse, candidates
from einstellung.scenes.logic_report import logic_record, sentences
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from tests.scenes.naive import MIXED, PAIRS, SPHERE, every_truth, in_class

ANY = "c1 or c2 or c3"


@pytest.fixture(scope="module")
def paper():
    return analyse(PAPER_RULES)


# The predicates once more, from truth values alone.
NAIVE = {
    "g": lambda g, c: g,
    "c1": lambda g, c: c[0],
    "c2": lambda g, c: c[1],
    "c1 or c2": lambda g, c: c[0] or c[1],
    ANY: lambda g, c: any(c),
    "c1 and c2": lambda g, c: all(c),
    "exactly one of c1, c2, c3": lambda g, c: sum(c) == 1,
    "g and c2": lambda g, c: g and c[1],
    "g or c1": lambda g, c: g or c[0],
    "g and (c1 or c2 or c3)": lambda g, c: g and any(c),
    "g or (c1 and c2 and c3)": lambda g, c: g or all(c),
    "true": lambda g, c: True,
}


@pytest.mark.parametrize("book", [PAIRS, MIXED], ids=["pairs", "mixed"])
@pytest.mark.parametrize("variant", ["strict", "disjoint"])
def test_accuracies_and_bounds_against_every_scene(book, variant):
    truths = every_truth(book)
    cells = {
        (task, label): [row for row, one in enumerate(truths) if in_class(one, variant, task, label)]
        for task in range(book.tasks)
        for label in (1, 0)
    }
    plain = {label: [row for row, (g, _) in enumerate(truths) if g == bool(label)] for label in (1, 0)}

    def right(predicate, rows, label):
        return Fraction(sum(predicate(*truths[row]) == bool(label) for row in rows), len(rows))

    found = analyse(book).variant(variant)
    checked = 0
    for standing in found.results:
        predicate = NAIVE.get(standing.predicate.formula)
        if predicate is None:
            continue
        checked += 1
        for task, answers in enumerate(standing.tasks):
            assert answers.positive == right(predicate, cells[task, 1], 1)
            assert answers.negative == right(predicate, cells[task, 0], 0)
        assert standing.joint.accuracy == sum(one.accuracy for one in standing.tasks) / book.tasks
        assert standing.unconfounded.positive == right(predicate, plain[1], 1)
        assert standing.unconfounded.negative == right(predicate, plain[0], 0)
    assert checked >= 6
    for number, left_open in enumerate(found.undetermined, start=1):
        determined = {label: {row for task in range(number) for row in cells[task, label]} for label in (1, 0)}
        assert left_open.positive == Fraction(len(set(plain[1]) - determined[1]), len(plain[1]))
        assert left_open.negative == Fraction(len(set(plain[0]) - determined[0]), len(plain[0]))
    best = Fraction(0)
    for which in {tuple(c) for _, c in truths}:
        best += max(
            sum(Fraction(sum(tuple(truths[row][1]) == which for row in cells[task, label]), len(cells[task, label]))
                for task in range(book.tasks))
            for label in (1, 0)
        )  # fmt: skip
    assert found.best_confounder_rule == best / (2 * book.tasks)


@pytest.mark.parametrize("variant", ["strict", "disjoint"])
def test_every_task_is_solved_by_g_and_by_its_own_confounder(paper, variant):
    found = paper.variant(variant)
    truth = found.result("g")
    assert truth.joint.solves
    assert truth.unconfounded.solves
    for task in range(3):
        standing = found.result(f"c{task + 1}")
        assert [one.solves for one in standing.tasks] == [number == task for number in range(3)]
        assert not standing.unconfounded.solves
        assert found.result(f"g and c{task + 1}").tasks[task].solves
        assert found.result(f"g or c{task + 1}").tasks[task].solves


def test_section_3_1(paper):
    """The disjunction solves the disjoint tasks and not the strict ones; the bounds are those of equations 4 and 5."""
    solving = {
        variant: {one.predicate.formula for one in paper.variant(variant).results if one.joint.solves}
        for variant in ("strict", "disjoint")
    }
    between = {"g", "g and (c1 or c2 or c3)", "g or (c1 and c2 and c3)"}
    assert solving["strict"] == between
    assert solving["disjoint"] == between | {ANY, "exactly one of c1, c2, c3", "g or c1", "g or c2", "g or c3"} | {
        "g or (c1 or c2 or c3)"
    }
    assert paper.variant("disjoint").best_confounder_rule == 1
    assert paper.variant("strict").best_confounder_rule < 1
    assert not paper.exhaustive
    assert not paper.together_impossible
    strict = paper.variant("strict").undetermined[-1]
    assert not strict.only_g
    # Open: positives without any confounder (small, rubber, not blue), negatives with all three.
    truth = 1 - Fraction(2, 3) ** 4 - Fraction(5, 6) ** 4 + Fraction(1, 2) ** 4
    small = (1 - 2 * Fraction(2, 3) ** 4 + Fraction(1, 3) ** 4) * Fraction(1, 16)
    assert strict.positive == small * Fraction(1, 2) ** 4 * Fraction(7, 8) ** 4 / truth
    assert strict.worst > Fraction(3, 4)
    assert paper.variant("disjoint").undetermined[-1].worst < Fraction(1, 10)


def test_tasks_that_come_again_change_nothing():
    """More of them than a whole number has bits, the second one from the 65th on."""
    blue, metal = PAPER_RULES.confounders[:1], PAPER_RULES.confounders[1:2]
    books = [RuleBook(PAPER_RULES.ground_truth, tasks) for tasks in (blue + metal, blue * 64 + metal * 64)]
    once, again = (analyse(book).variant("strict").best_confounder_rule for book in books)
    assert once == again


def test_tasks_narrow_the_bounds(paper):
    for variant in ("strict", "disjoint"):
        shares = [(one.positive, one.negative) for one in paper.variant(variant).undetermined]
        assert len(shares) == 3
        assert all(earlier[0] >= later[0] and earlier[1] >= later[1] for earlier, later in pairwise(shares))


def test_blue_after_the_first_task_as_the_paper_measures_it(paper):
    """Figure 6: nets that learn 'blue' are right on 43 to 47 % of unconfounded positives and 55 to 59 % of negatives."""
    blue = paper.variant("disjoint").result("c1").unconfounded
    assert blue.positive == 1 - Fraction(7, 8) ** 4
    assert blue.negative == Fraction(7, 8) ** 4
    assert abs(float(blue.positive) - 0.4339) < 0.025
    assert abs(float(blue.negative) - 0.5907) < 0.01


def test_g_alone_where_confounders_exhaust_and_exclude_each_other():
    book = RuleBook((SPHERE,), ((ObjectPattern(size="small"),), (ObjectPattern(size="large"),)), objects=1)
    found = analyse(book)
    assert found.exhaustive
    assert found.together_impossible
    strict = found.variant("strict")
    assert [one.only_g for one in strict.undetermined] == [False, True]
    assert strict.undetermined[-1].worst == 1
    assert "'sphere' is the only predicate that solves all tasks together." in sentences(found, "strict")
    # Both hold with two objects only if one of them is small and the other large.
    assert not analyse(RuleBook(book.ground_truth, book.confounders, objects=2)).together_impossible


def test_a_variant_that_cannot_be_made():
    book = RuleBook((SPHERE,), ((ObjectPattern(color="blue"),), (ObjectPattern(color="blue", shape="sphere"),)))
    found = analyse(book)
    assert found.variant("disjoint").impossible is not None
    assert found.variant("strict").impossible is None
    [only] = sentences(found, "disjoint")
    assert only.startswith("The disjoint sets cannot be made: T2 has no positives")
    assert logic_record(found)["variants"]["disjoint"]["predicates"] == []


def test_sentences_of_the_paper(paper):
    strict, disjoint = (sentences(paper, variant) for variant in ("strict", "disjoint"))
    assert strict[0].startswith("T1 alone cannot distinguish 'blue' from 'sphere and small cube': both solve it.")
    assert "41.4 % of unconfounded positives and 58.6 % of unconfounded negatives" in strict[0]
    assert any("No rule over the confounders alone solves all tasks together" in line for line in strict)
    assert any("also solved by 'blue or metal or large'" in line for line in disjoint)


def test_a_confounder_that_is_the_ground_truth_is_no_trap():
    found = analyse(RuleBook((SPHERE,), ((SPHERE,), (ObjectPattern(color="blue"),))))
    assert sentences(found, "strict")[0] == "T1 is not confounded: 'sphere' is the ground truth itself."


def test_candidates_are_listed_once():
    for book in (PAPER_RULES, MIXED, RuleBook((SPHERE,), ((ObjectPattern(color="blue"),),))):
        formulas = [one.formula for one in candidates(book)]
        assert len(set(formulas)) == len(formulas)
    words = [one.words for one in candidates(PAPER_RULES)]
    assert {"sphere", "small cube"} <= set(words)
    assert words.count("blue") == 1
