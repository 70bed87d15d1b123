"""Shares of what is right, on outputs with one thing wrong at a time."""

from __future__ import annotations

import pytest
import torch

from einstellung.perception.accuracy import perception_accuracy
from einstellung.perception.columns import CENTRE, GROUPS, PRESENCE

from .conftest import sure


@pytest.fixture
def known():
    codes = torch.tensor([[[0, 0, 0, 0], [1, 1, 1, 7]], [[2, 0, 1, 3], [2, 0, 1, 3]]])
    centres = torch.tensor([[[0.2, 0.2], [0.7, 0.6]], [[0.3, 0.3], [0.6, 0.7]]])
    return sure(codes, centres), codes, centres


def test_all_right(known):
    assert perception_accuracy(*known) == {
        "scenes": 2,
        "attributes": dict.fromkeys(GROUPS, 1.0),
        "all_attributes": 1.0,
        "recall": 1.0,
        "precision": 1.0,
        "whole_scenes": 1.0,
    }


def test_slots_in_any_order(known):
    outputs, codes, centres = known
    assert perception_accuracy(outputs[:, [4, 1, 3, 0, 2]], codes, centres)["whole_scenes"] == 1.0


def test_a_wrong_colour(known):
    outputs, codes, centres = known
    outputs[0, 1, GROUPS["color"].start] = 30.0
    found = perception_accuracy(outputs, codes, centres)
    assert found["attributes"] == {"shape": 1.0, "size": 1.0, "material": 1.0, "color": 0.75}
    assert (found["all_attributes"], found["whole_scenes"]) == (0.75, 0.5)


def test_colours_that_changed_places_are_two_errors(known):
    """An assignment that looked at attributes would not see it; the set as such is right."""
    outputs, codes, centres = known
    places = outputs[0, [1, 0], CENTRE].clone()
    outputs[0, :2, CENTRE] = places
    found = perception_accuracy(outputs, codes, centres)
    assert found["attributes"]["color"] == 0.5
    assert found["whole_scenes"] == 1.0


def test_an_object_that_is_missed_and_a_ghost(known):
    outputs, codes, centres = known
    outputs[1, 0, PRESENCE] = -1.0
    missed = perception_accuracy(outputs, codes, centres)
    assert (missed["recall"], missed["precision"], missed["whole_scenes"]) == (0.75, 1.0, 0.5)
    assert missed["all_attributes"] == 1.0  # of those found
    outputs[1, 0, PRESENCE] = 1.0
    outputs[1, 2, PRESENCE] = 1.0
    ghost = perception_accuracy(outputs, codes, centres)
    assert (ghost["recall"], ghost["precision"], ghost["whole_scenes"]) == (1.0, 0.8, 0.5)


def test_an_object_seen_far_from_where_it_is_was_not_found(known):
    outputs, codes, centres = known
    outputs[0, 0, CENTRE] = torch.logit(torch.tensor([0.2, 0.35]).double())
    found = perception_accuracy(outputs, codes, centres)
    assert (found["recall"], found["precision"]) == (0.75, 0.75)


def test_shares_of_nothing(known):
    outputs, codes, centres = known
    outputs[:, :, PRESENCE] = -1.0
    found = perception_accuracy(outputs, codes, centres)
    assert found["precision"] is None
    assert found["all_attributes"] is None
    assert (found["recall"], found["whole_scenes"]) == (0.0, 0.0)
