"""Scenes of a class: their own attributes, and layouts that suit the other class as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from einstellung.scenes.class_scenes import draw_class
from einstellung.scenes.cue_probe import LabelledFeatures, position_features, probe_cues
from einstellung.scenes.layout import layouts_valid, place_scenes
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook
from einstellung.scenes.sampling import draw_attributes


def generators(count: int, *seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng([*seed, number]) for number in range(count)]


def test_the_attributes_are_drawn_first():
    drawn = draw_class(PAPER_RULES, "strict", 1, 0, generators(6, 1))
    attributes, _ = draw_attributes(PAPER_RULES, "strict", 1, 0, generators(6, 1))
    assert np.array_equal(drawn.scenes.attributes, attributes)


def test_a_layout_suits_both_the_scene_and_its_counterpart():
    own = generators(40, 2)
    attributes, _ = draw_attributes(PAPER_RULES, "strict", 2, 1, own)
    counterparts, _ = draw_attributes(PAPER_RULES, "strict", 2, 0, own)
    drawn = draw_class(PAPER_RULES, "strict", 2, 1, generators(40, 2)).scenes
    for codes in (attributes, counterparts):
        assert layouts_valid(replace(drawn, attributes=codes)).all()
    alone = place_scenes(attributes, None, own)
    assert not layouts_valid(replace(alone, attributes=counterparts)).all()


def test_where_rules_mention_places_there_is_no_counterpart():
    book = RuleBook((ObjectPattern(shape="sphere", side="left"),), ((ObjectPattern(color="blue"),),))
    own = generators(5, 3)
    attributes, places = draw_attributes(book, "strict", 0, 1, own)
    drawn = draw_class(book, "strict", 0, 1, generators(5, 3))
    assert np.array_equal(drawn.places, places)
    assert np.array_equal(drawn.scenes.position, place_scenes(attributes, places, own).position)


@pytest.mark.parametrize(("variant", "task"), [("unconfounded", 0), ("strict", 2)])
def test_positions_alone_say_nothing_about_the_label(variant, task):
    """Placed to suit their own objects alone, as in the first version, they do: small objects must be near to be visible."""
    count, found = 1000, {}
    for counterpart in (True, False):
        positions = []
        for label in (1, 0):
            own = generators(count, 4, label)
            if counterpart:
                positions.append(draw_class(PAPER_RULES, variant, task, label, own).scenes.position)
            else:
                attributes, _ = draw_attributes(PAPER_RULES, variant, task, label, own)
                positions.append(place_scenes(attributes, None, own).position)
        features = {"positions": position_features(np.concatenate(positions))}
        [found[counterpart]] = probe_cues({0: LabelledFeatures(features, np.repeat([1, 0], count))})
    assert found[False].found
    assert found[False].auc > 0.58
    assert not found[True].found
