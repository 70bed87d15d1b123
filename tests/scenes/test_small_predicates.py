"""The search space of the audit against counting by hand."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import numpy as np

from einstellung.scenes.attributes import COLUMNS, KINDS
from einstellung.scenes.small_predicates import attribute_hits, layout_statistics, statistic_hits, thresholds_of
from tests.scenes.naive import dictionaries


def naive(words: str, scene) -> bool:
    """Read the words as a person would."""
    if match := re.fullmatch(r"some (\w+) (and|or) some (\w+)", words):
        first, second = (any(value in item.values() for item in scene) for value in (match[1], match[3]))
        return (first and second) if match[2] == "and" else (first or second)
    if match := re.fullmatch(r"(\d) (?:identical objects|objects of the same (.+))", words):
        names = match[2].split(" and ") if match[2] else COLUMNS
        return max(Counter(tuple(item[name] for name in names) for item in scene).values()) >= int(match[1])
    if match := re.fullmatch(r"(\d) different (?:objects|in (.+))", words):
        names = match[2].split(" and ") if match[2] else COLUMNS
        return len({tuple(item[name] for name in names) for item in scene}) >= int(match[1])
    match = re.fullmatch(r"(some|all|at least (\d)) (.+?)( left| right| front| back)?", words)
    assert match is not None, words
    values = [word for word in match[3].split() if word != "object"] + ([match[4].strip()] if match[4] else [])
    number = sum(all(value in item.values() for value in values) for item in scene)
    return number >= {"some": 1, "all": len(scene)}.get(match[1], int(match[2] or 0))


def test_every_predicate_is_what_its_words_say():
    generator = np.random.default_rng(5)
    # Few kinds, so that likenesses are frequent.
    attributes = KINDS[generator.choice(generator.integers(96, size=12), size=(60, 4))]
    places = generator.integers(4, size=(60, 4)).astype(np.uint8)
    words, hits = attribute_hits(attributes, places)
    scenes = dictionaries(attributes, places)
    assert len(set(words)) == len(words) > 500
    assert hits.tolist() == [sum(naive(one, scene) for scene in scenes) for one in words]


def test_fewer_objects_have_fewer_predicates():
    words, _ = attribute_hits(KINDS[:10][:, None])
    assert "some blue" in words
    assert not any(word.startswith(("at least", "all", "2 ")) for word in words)


def test_numbers_of_a_layout():
    position = np.array([[[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]])
    numbers = layout_statistics(position, np.array([[0.1, 0.2, 0.3]]), np.zeros((1, 3, 3)))
    assert numbers["mean x"].tolist() == [1.0]
    assert np.allclose(numbers["mean y"], 5 / 3)
    assert numbers["mean distance from the centre"].tolist() == [2.0]
    assert numbers["nearest pair"].tolist() == [min(np.hypot(*(a - b)) for a, b in combinations(position[0], 2))]
    assert numbers["farthest pair"].tolist() == [5.0]
    assert numbers["camera 1"].tolist() == [0.2]
    assert sum(name.startswith("lamps") for name in numbers) == 9


def test_numbers_become_predicates_at_their_deciles():
    numbers = {"height": np.arange(101.0)}
    words, hits = statistic_hits(numbers, thresholds_of(numbers))
    assert words[0] == "height above 10"
    assert hits.tolist() == [90, 80, 70, 60, 50, 40, 30, 20, 10]
