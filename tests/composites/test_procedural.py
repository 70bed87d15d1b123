"""Drawn sources: the same every time, all different, and their labels are in the drawing."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.composites.geometry import cut_out
from einstellung.composites.procedural import OBJECTS, procedural


@pytest.fixture(scope="module")
def sources():
    return procedural({"train": 12, "val": 4, "test": 4})


def test_numbers_by_kind_and_split(sources):
    for value in (0, 1):
        for split, count in {"train": 12, "val": 4, "test": 4}.items():
            assert len(sources.numbers("target", split, value)) == count
            assert len(sources.numbers("background", split, value)) == count
            assert len(sources.numbers("object", split, value)) == OBJECTS[split]


def test_a_picture_depends_on_its_name_alone(sources):
    more = {source.name: source for source in procedural({"train": 20, "val": 4, "test": 4}).items}
    seen = set()
    for source in sources.items[::5]:
        picture = source.load()
        assert np.array_equal(picture, more[source.name].load())
        assert source.digest() == more[source.name].digest()
        seen.add(picture.tobytes())
    assert len(seen) == len(sources.items[::5])


def test_only_the_outline_separates_targets(sources):
    """Perimeter^2 / area of the mask: colours, markings and pose have no part in it."""
    jagged = {0: [], 1: []}
    for source in sources.by_kind["target"]:
        mask = cut_out(source.load(), 64, source.name)[3] == 255
        edge = (mask[1:] != mask[:-1]).sum() + (mask[:, 1:] != mask[:, :-1]).sum()
        jagged[source.value].append(edge**2 / mask.sum())
    middle = (np.median(jagged[0]) + np.median(jagged[1])) / 2
    right = [value < middle for value in jagged[0]] + [value > middle for value in jagged[1]]
    assert np.mean(right) >= 0.9


def test_cut_outs_have_a_mask_and_backgrounds_none(sources):
    for source in sources.items[::7]:
        picture = source.load()
        assert picture.shape[2] == (3 if source.kind == "background" else 4)
        if source.kind != "background":
            assert 0.05 < (picture[..., 3] == 255).mean() < 0.95
