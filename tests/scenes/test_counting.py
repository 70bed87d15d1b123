"""Counts against looking at every scene, and against formulas worked by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from einstellung.scenes.counting import mask_counts
from einstellung.scenes.predicates import all_of, confounder, confounders, ground_truth, negation
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from tests.scenes.naive import MIXED, PAIRS, PLACED, every_scene, obeys


@pytest.mark.parametrize("book", [PAIRS, MIXED, PLACED], ids=["pairs", "mixed", "placed"])
def test_against_every_scene(book):
    wanted: dict[int, int] = {}
    for scene in every_scene(book):
        mask = sum(obeys(scene, (pattern,)) << bit for bit, pattern in enumerate(book.patterns))
        wanted[mask] = wanted.get(mask, 0) + 1
    counted = mask_counts(book)
    assert dict(zip(counted.masks.tolist(), counted.counts.tolist(), strict=True)) == wanted


def share(predicate) -> Fraction:
    counted = mask_counts(PAPER_RULES)
    return counted.share(predicate.holds(counted.masks), np.ones(len(counted.masks), dtype=bool))


def test_the_papers_rules_by_hand():
    assert mask_counts(PAPER_RULES).total == 96**4
    truth = 1 - Fraction(2, 3) ** 4 - Fraction(5, 6) ** 4 + Fraction(1, 2) ** 4  # spheres 1/3, small cubes 1/6
    assert share(ground_truth(PAPER_RULES)) == truth
    assert [share(one) for one in confounders(PAPER_RULES)] == [
        1 - Fraction(7, 8) ** 4,
        1 - Fraction(1, 2) ** 4,
        1 - Fraction(1, 2) ** 4,
    ]
    # Colours and materials know nothing of shapes and sizes; sizes do.
    blue, metal, large = confounders(PAPER_RULES)
    assert share(all_of([ground_truth(PAPER_RULES), blue, metal])) == truth * share(blue) * share(metal)
    small_only = negation(large)  # spheres 1/3 and cubes 1/3 of what is small
    inside = 1 - 2 * Fraction(2, 3) ** 4 + Fraction(1, 3) ** 4
    assert share(all_of([ground_truth(PAPER_RULES), small_only])) == inside * Fraction(1, 16)


@pytest.mark.parametrize("objects", [1, 3, 9])
def test_all_scenes_are_counted(objects):
    book = RuleBook((ObjectPattern(shape="sphere"),), PAPER_RULES.confounders, objects)
    assert mask_counts(book).total == 96**objects


def test_twenty_patterns():
    colours = [
        ObjectPattern(color=colour) for colour in ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
    ]
    shaped = [
        ObjectPattern(shape=shape, size=size) for shape in ("cube", "sphere", "cylinder") for size in ("small", "large")
    ]
    sided = [
        ObjectPattern(material=material, side=side) for material in ("rubber", "metal") for side in ("left", "right")
    ]
    rest = [ObjectPattern(depth="front"), ObjectPattern(depth="back")]
    book = RuleBook((colours[0],), tuple((one,) for one in colours[1:] + shaped + sided + rest))
    counted = mask_counts(book)
    assert len(book.patterns) == 20
    assert counted.total == 384**4
    assert confounder(book, 0).words == "red"
    red = counted.share(confounder(book, 0).holds(counted.masks), np.ones(len(counted.masks), dtype=bool))
    assert red == 1 - Fraction(7, 8) ** 4
