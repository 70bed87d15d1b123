"""Twins keep every promise: one attribute changes, the confounder turns round, the ground truth does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from einstellung.scenes.attributes import COLUMNS
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from einstellung.scenes.sampling import draw_attributes, scene_generator
from einstellung.scenes.twins import with_confounder, without_confounder

CUBE, SPHERE, CYLINDER = 0, 1, 2
SMALL, LARGE = 0, 1
RUBBER, METAL = 0, 1
GRAY, RED, BLUE, GREEN = 0, 1, 2, 3


def drawn(variant: str, task: int, label: int, count: int = 300, book: RuleBook = PAPER_RULES):
    generators = [scene_generator(1, variant, "test", task, label, number) for number in range(count)]
    return draw_attributes(book, variant, task, label, generators)[0]


def own(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([7, number]) for number in range(count)]


@pytest.mark.parametrize("variant", ["strict", "disjoint"])
@pytest.mark.parametrize("task", [0, 1, 2])
def test_the_confounder_is_taken_away_and_nothing_else(variant, task):
    before = drawn(variant, task, label=1)
    twins = without_confounder(PAPER_RULES, task, before, own(300))
    column = COLUMNS.index(("color", "material", "size")[task])
    with_confounder = before[..., column] == (BLUE, METAL, LARGE)[task]
    assert np.array_equal(twins.rows, np.arange(300))  # taking size from positives makes no sphere and no cube vanish
    changed = twins.attributes != before
    assert np.array_equal(changed[..., column], with_confounder)  # every object that has it, and no other
    assert not np.delete(changed, column, axis=-1).any()
    expected = PAPER_RULES.truths(before)
    expected[:, 1 + task] = False
    assert np.array_equal(PAPER_RULES.truths(twins.attributes), expected)
    assert (twins.wrong_start, twins.no_candidate, twins.no_room, twins.others_changed) == (0, 0, 0, 0)


@pytest.mark.parametrize("variant", ["strict", "disjoint"])
@pytest.mark.parametrize("task", [0, 1, 2])
def test_the_confounder_is_put_in_and_nothing_else(variant, task):
    before = drawn(variant, task, label=0)
    twins = with_confounder(PAPER_RULES, task, before, own(300))
    column = COLUMNS.index(("color", "material", "size")[task])
    changed = twins.attributes != before[twins.rows]
    assert (changed.sum(axis=(1, 2)) == 1).all()  # one attribute of one object
    assert changed[..., column].any(axis=1).all()
    expected = PAPER_RULES.truths(before)[twins.rows]
    expected[:, 1 + task] = True
    assert np.array_equal(PAPER_RULES.truths(twins.attributes), expected)
    assert len(twins.rows) == 300  # no negative becomes a positive by being blue, metal or large


def test_another_colour_is_drawn_evenly_from_the_seven_others():
    scene = np.array([[[SPHERE, SMALL, RUBBER, BLUE], [CUBE, SMALL, RUBBER, RED]]] * 2100, dtype=np.uint8)
    book = RuleBook(PAPER_RULES.ground_truth, PAPER_RULES.confounders, objects=2)
    twins = without_confounder(book, 0, scene, own(len(scene)))
    counts = np.bincount(twins.attributes[:, 0, 3], minlength=8)
    assert counts[BLUE] == 0
    assert chisquare(np.delete(counts, BLUE)).pvalue > 1e-4


def test_the_object_that_gets_the_confounder_is_drawn_evenly():
    scene = np.zeros((2000, 4, 4), dtype=np.uint8)
    twins = with_confounder(PAPER_RULES, 1, scene, own(len(scene)))
    counts = (twins.attributes[..., 2] == METAL).sum(axis=0)
    assert counts.sum() == 2000
    assert chisquare(counts).pvalue > 1e-4


def test_a_new_colour_is_not_another_tasks_confounder():
    book = RuleBook(
        (ObjectPattern(shape="sphere"),),
        ((ObjectPattern(color="blue"),), (ObjectPattern(color="red"),), (ObjectPattern(color="gray"),)),
        2,
    )
    scene = np.array([[[SPHERE, SMALL, RUBBER, BLUE], [CUBE, SMALL, RUBBER, BLUE]]] * 200, dtype=np.uint8)
    twins = without_confounder(book, 0, scene, own(200))
    assert twins.others_changed == 0
    assert not np.isin(twins.attributes[..., 3], [BLUE, RED, GRAY]).any()


def test_where_no_colour_is_free_the_twin_is_kept_and_counted():
    """Metal away makes rubber, which is the confounder of the other task."""
    book = RuleBook(
        (ObjectPattern(shape="sphere"),),
        ((ObjectPattern(material="metal"),), (ObjectPattern(material="rubber"),)),
        objects=2,
    )
    scene = np.array([[[SPHERE, SMALL, METAL, RED], [CUBE, SMALL, METAL, RED]]], dtype=np.uint8)
    twins = without_confounder(book, 0, scene, own(1))
    assert book.truths(twins.attributes).tolist() == [[True, False, True]]
    assert (len(twins.rows), twins.others_changed) == (1, 1)


def test_a_twin_that_would_change_the_ground_truth_is_none():
    """The one sphere is also the one blue sphere; made a cube, it takes the ground truth with it."""
    book = RuleBook((ObjectPattern(color="blue"),), ((ObjectPattern(shape="sphere", color="blue"),),), objects=2)
    scene = np.array([[[SPHERE, SMALL, RUBBER, BLUE], [CUBE, SMALL, RUBBER, RED]]], dtype=np.uint8)
    twins = without_confounder(book, 0, scene, own(1))
    assert (len(twins.rows), twins.no_candidate) == (0, 1)  # the last attribute, the colour, is all that may change


def test_of_several_patterns_the_first_that_can_be_broken_is():
    """Blue cannot go without the ground truth; of the sphere, its shape can."""
    book = RuleBook(
        (ObjectPattern(color="blue"),), ((ObjectPattern(color="blue"), ObjectPattern(shape="sphere")),), objects=2
    )
    scene = np.array([[[SPHERE, SMALL, RUBBER, RED], [CUBE, SMALL, RUBBER, BLUE]]], dtype=np.uint8)
    twins = without_confounder(book, 0, scene, own(1))
    assert twins.attributes[0, 0, 0] in (CUBE, CYLINDER)
    assert np.array_equal(twins.attributes[0, 1], scene[0, 1])


def test_several_patterns_are_put_in_with_the_fewest_changes():
    """A large blue object and a cube: the large red sphere needs one change, and a cube is there."""
    book = RuleBook(
        (ObjectPattern(shape="cylinder"),),
        ((ObjectPattern(size="large", color="blue"), ObjectPattern(shape="cube")),),
        objects=2,
    )
    scene = np.array([[[SPHERE, LARGE, RUBBER, RED], [CUBE, SMALL, RUBBER, RED]]], dtype=np.uint8)
    twins = with_confounder(book, 0, scene, own(1))
    assert twins.attributes.tolist() == [[[SPHERE, LARGE, RUBBER, BLUE], [CUBE, SMALL, RUBBER, RED]]]


def test_places_stay():
    """Blue on the left: only the object on the left can get it; a confounder of place alone has no twin."""
    book = RuleBook(
        (ObjectPattern(shape="cylinder"),),
        ((ObjectPattern(color="blue", side="left"),), (ObjectPattern(side="left"),)),
        objects=2,
    )
    scene = np.zeros((40, 2, 4), dtype=np.uint8)
    places = np.array([[1, 2]] * 40, dtype=np.uint8)  # right front, left back
    twins = with_confounder(book, 0, scene, own(40), places)
    assert (twins.attributes[..., 3] == [GRAY, BLUE]).all()
    back = without_confounder(book, 0, twins.attributes, own(40), places)
    assert len(back.rows) == 40
    assert not (back.attributes[..., 3] == BLUE).any()
    assert without_confounder(book, 1, scene, own(40), places).no_candidate == 40
    assert with_confounder(book, 1, scene, own(40), np.ones_like(places)).no_candidate == 40


def test_scenes_that_start_on_the_wrong_side_are_left_out_and_counted():
    positives, negatives = drawn("strict", 0, 1, 20), drawn("strict", 0, 0, 30)
    both = np.concatenate([positives, negatives])
    away, put = without_confounder(PAPER_RULES, 0, both, own(50)), with_confounder(PAPER_RULES, 0, both, own(50))
    assert (away.rows.tolist(), away.wrong_start) == (list(range(20)), 30)
    assert (put.rows.tolist(), put.wrong_start) == (list(range(20, 50)), 20)


def test_what_does_not_fit_gives_way_to_another_candidate():
    """Only the third object may become large; in scene 1, none may."""
    scene = np.zeros((2, 4, 4), dtype=np.uint8)

    def fits(rows, attributes):
        return (attributes[:, 2, 1] == LARGE) & (rows == 0)

    twins = with_confounder(PAPER_RULES, 2, scene, own(2), fits=fits)
    assert twins.rows.tolist() == [0]
    assert twins.attributes[0, :, 1].tolist() == [SMALL, SMALL, LARGE, SMALL]
    assert twins.no_room == 1


def test_twins_depend_on_their_scene_alone():
    before = drawn("strict", 0, 1, 20)
    together = without_confounder(PAPER_RULES, 0, before, own(20))
    alone = without_confounder(PAPER_RULES, 0, before[5:6], own(20)[5:6])
    assert np.array_equal(together.attributes[5:6], alone.attributes)
