"""Who is put together with whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from einstellung.composites.procedural import procedural
from einstellung.composites.sources import KINDS
from einstellung.composites.split_plan import plan_splits
from einstellung.errors import InputError

COUNTS = {"train": 60, "val": 8, "test": 16}
PHASES = ((0.9, 0.5), (0.5, 0.9))


@pytest.fixture(scope="module")
def sources():
    """Nothing is drawn: only who there is."""
    return procedural(COUNTS)


def named(sources, plan):
    """Every image of a lot by the names of its parts."""
    columns = [[sources.by_kind[kind][n].name for n in getattr(plan.parts, f"{kind}s")] for kind in KINDS]
    return list(zip(plan.labels.tolist(), *columns, strict=True))


def values(sources, plan, kind):
    return np.array([sources.by_kind[kind][n].value for n in getattr(plan.parts, f"{kind}s")])


def test_plans_are_as_large_and_as_correlated_as_asked(sources):
    plans = plan_splits(sources, PHASES, {"train": 30, "val": 8, "test": 16}, False, 0)
    assert [plan.name for plan in plans] == ["T1", "T2", "val", "test"]
    assert [len(plan.labels) for plan in plans] == [60, 60, 16, 32]
    for plan, (background, thing) in zip(plans, (*PHASES, (0.5, 0.5), (0.5, 0.5)), strict=True):
        assert np.array_equal(values(sources, plan, "target"), plan.labels)
        for label in (0, 1):
            rows = plan.labels == label
            assert (values(sources, plan, "background")[rows] == label).mean() == pytest.approx(background, abs=0.04)
            assert (values(sources, plan, "object")[rows] == label).mean() == pytest.approx(thing, abs=0.04)


def test_targets_and_backgrounds_come_once_and_objects_about_equally_often(sources):
    plans = plan_splits(sources, PHASES, dict.fromkeys(COUNTS), False, 0)
    for kind in ("target", "background"):
        used = np.concatenate([getattr(plan.parts, f"{kind}s") for plan in plans])
        assert len(used) == len(set(used.tolist()))
    for plan in plans:
        split = "train" if plan.name.startswith("T") else plan.name
        for kind in KINDS:
            assert {sources.by_kind[kind][n].split for n in getattr(plan.parts, f"{kind}s")} == {split}
        often = Counter(plan.parts.objects.tolist())
        there = [n for value in (0, 1) for n in sources.numbers("object", split, value)]
        assert max(often.values()) - min(often[n] for n in there) <= 1


def test_shared_sources_are_paired_differently_in_every_phase(sources):
    first, second, *_ = plan_splits(sources, PHASES, dict.fromkeys(COUNTS), True, 0)
    assert set(first.parts.targets) == set(second.parts.targets)
    assert set(first.parts.backgrounds) == set(second.parts.backgrounds)
    pairs = [
        set(zip(plan.parts.targets.tolist(), plan.parts.backgrounds.tolist(), strict=True)) for plan in (first, second)
    ]
    assert len(pairs[0] & pairs[1]) < len(pairs[0]) / 4


def test_neither_the_order_of_files_nor_other_splits_matter(sources):
    plans = plan_splits(sources, PHASES, dict.fromkeys(COUNTS), False, 3)
    items = list(sources.items)
    np.random.default_rng(0).shuffle(items)
    turned = replace(sources, items=tuple(items))
    for one, again in zip(plans, plan_splits(turned, PHASES, dict.fromkeys(COUNTS), False, 3), strict=True):
        assert named(sources, one) == named(turned, again)
    fewer = plan_splits(sources, PHASES, {"train": None, "val": 4, "test": None}, False, 3)
    assert named(sources, fewer[-1]) == named(sources, plans[-1])


def test_another_seed_gives_another_plan(sources):
    one, other = (plan_splits(sources, PHASES, dict.fromkeys(COUNTS), False, seed)[0] for seed in (0, 1))
    assert sorted(named(sources, one)) != sorted(named(sources, other))


def test_three_cues_have_watermarks(sources):
    plan, *_, test = plan_splits(sources, ((0.9, 0.5, 0.8),), dict.fromkeys(COUNTS), False, 0)
    for label in (0, 1):
        assert (plan.parts.marks[plan.labels == label] == label).mean() == pytest.approx(0.8, abs=0.04)
        assert (test.parts.marks[test.labels == label] == label).mean() == 0.5


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"train": 40}, "train is 40 images per class in each of 2 phases, but only 60 round targets"),
        ({"test": 20}, "test is 20 images per class, but only 16"),
        ({"test": 6}, "test is 6 images per class: give a multiple of 4"),
        ({"train": 0}, "train is 0: give at least 1"),
        ({"train": 3}, "3 images per class are too few for 4 groups"),
    ],
)
def test_impossible_plans_are_named(sources, counts, words):
    with pytest.raises(InputError, match=words):
        plan_splits(sources, PHASES, {**dict.fromkeys(COUNTS), **counts}, False, 0)


def test_too_few_sources_are_named(sources):
    few = procedural({"train": 6, "val": 4, "test": 4})
    with pytest.raises(InputError, match="only 6 round targets for train: 8 are needed"):
        plan_splits(few, PHASES, dict.fromkeys(COUNTS), False, 0)
    without = replace(sources, items=tuple(s for s in sources.items if not (s.kind == "object" and s.split == "val")))
    with pytest.raises(InputError, match="there are no sign objects for val"):
        plan_splits(without, PHASES, dict.fromkeys(COUNTS), False, 0)
    with pytest.raises(InputError, match="seed is -1"):
        plan_splits(sources, PHASES, dict.fromkeys(COUNTS), False, -1)
