"""The audit finds what is planted, and nothing where nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.audit import AuditedScenes, audit, best_variant
from einstellung.scenes.predicates import VARIANTS
from einstellung.scenes.rules import PAPER_RULES
from tests.scenes.audited_scenes import drawn, with_twin_fillers
from tests.scenes.naive import PLACED_PAIRS


@pytest.mark.parametrize("count", [60, 750])
def test_two_identical_objects_are_found(count):
    found = audit(PAPER_RULES, with_twin_fillers(drawn("strict", count, seed=3)), "strict")
    assert not found.passed
    assert not found.broken  # every scene obeys its rule, and still there is a second one
    first = found.unintended[0]
    assert (first.task, first.words) == (0, "2 identical objects")
    assert first.found[0] == 1
    assert first.accuracy > 0.9
    assert first.expected_accuracy < 0.55
    assert first.p_value is not None
    assert first.p_value < 1e-6
    assert {one.task for one in found.unintended} == {0}


@pytest.mark.parametrize("variant", VARIANTS)
def test_our_own_sets_hide_nothing(variant):
    for seed in range(10):
        found = audit(PAPER_RULES, drawn(variant, count=40 if seed % 2 else 400, seed=seed))
        assert found.variant == variant
        assert found.passed, found.unintended[:3]
        assert found.predicates > 400


def test_what_the_rules_intend_is_expected():
    found = audit(PAPER_RULES, drawn("strict", 200, 1))
    perfect = {(one.task, one.words) for one in found.strongest if one.accuracy == one.expected_accuracy == 1}
    assert perfect >= {(0, "some blue"), (1, "some metal"), (2, "some large")}


def test_a_weak_rule_is_found_when_there_are_many_scenes():
    """A tenth of the positives made of rubber alone: little, and no chance."""
    scenes = drawn("unconfounded", 3000, 2)
    attributes = scenes.attributes.copy()
    rows = scenes.rows(0, 1)[:300]
    attributes[rows, :, 2] = 0
    found = audit(PAPER_RULES, replace(scenes, attributes=attributes))
    assert any(one.words in ("some metal", "all rubber") for one in found.unintended)
    assert max(one.excess for one in found.unintended) < 0.1


def test_rules_that_are_broken_are_counted():
    scenes = drawn("strict", 50, 4)
    labels = scenes.labels.copy()
    labels[scenes.rows(1, 1)[:5]] = 0
    found = audit(PAPER_RULES, replace(scenes, labels=labels), "strict")
    assert found.broken == {(1, 0): 5}
    assert not found.passed


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variant_is_seen_from_the_scenes(variant):
    assert best_variant(PAPER_RULES, drawn(variant, 30, 5)) == variant


def numbered(scenes: AuditedScenes, seed: int, shift: float = 0.0) -> AuditedScenes:
    values = np.random.default_rng(seed).normal(size=len(scenes)) + shift * scenes.labels
    return replace(scenes, statistics={"brightness": values})


def test_numbers_of_an_image():
    scenes, fresh = drawn("strict", 300, 6), numbered(drawn("strict", 300, 7), 1)
    assert audit(PAPER_RULES, numbered(scenes, 2), "strict", fresh).passed
    found = audit(PAPER_RULES, numbered(scenes, 2, shift=1.5), "strict", fresh)
    assert found.unintended
    assert all(one.words.startswith("brightness above") for one in found.unintended)
    assert {one.task for one in found.unintended} == {0, 1, 2}
    alone = audit(PAPER_RULES, numbered(scenes, 2, shift=1.5), "strict")
    assert alone.passed
    assert alone.not_compared == ("brightness",)


def test_rules_about_places():
    scenes = drawn("strict", 200, 8, PLACED_PAIRS)
    assert audit(PLACED_PAIRS, scenes, "strict").passed
    assert scenes.places is not None
    places = np.where(scenes.labels[:, None] == 0, scenes.places, scenes.places & 1).astype(np.uint8)
    found = audit(PLACED_PAIRS, replace(scenes, places=places), "strict")
    assert any("back" in one.words or "front" in one.words for one in found.unintended)


def test_scenes_that_cannot_be_audited():
    scenes = drawn("strict", 10, 1)
    with pytest.raises(InputError, match="the scenes have 3 objects, the rules are for 4"):
        audit(PAPER_RULES, replace(scenes, attributes=scenes.attributes[:, :3]))
    only = scenes.labels == 1
    with pytest.raises(InputError, match="task 0 has no scene with label 0"):
        audit(PAPER_RULES, AuditedScenes(scenes.attributes[only], scenes.labels[only], scenes.tasks[only]))
