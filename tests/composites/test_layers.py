"""Layers put on top of each other, against a picture made pixel by pixel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from einstellung.composites.layers import load_layers
from einstellung.composites.procedural import procedural
from einstellung.composites.split_plan import NONE
from einstellung.composites.watermark_mask import watermark_mask
from tests.composites.small import few


@pytest.fixture(scope="module", params=[32, 33])
def made(request):
    return few(size=request.param, phases=((0.75, 0.75, 0.75),), counts={"val": 8, "test": 8})


def pixel_by_pixel(layers, target, background, thing, mark):
    """The recipe in plain words: whatever is nearest to the eye is seen."""
    picture = np.empty((3, layers.size, layers.size), dtype=np.uint8)
    mask = watermark_mask(layers.size) * 128 / 255
    for row in range(layers.size):
        for col in range(layers.size):
            seen = layers.flat_colour if background == NONE else layers.backgrounds[background, :, row, col]
            for cut_outs, which in ((layers.objects, thing), (layers.targets, target)):
                y, x = row - cut_outs.window.top, col - cut_outs.window.left
                within = 0 <= y < cut_outs.window.height and 0 <= x < cut_outs.window.width
                if which != NONE and within and cut_outs.pixels[which, 3, y, x]:
                    seen = cut_outs.pixels[which, :3, y, x]
            if mark:
                seen = np.rint(seen * (1 - mask[row, col]) + 255 * mask[row, col])
            picture[:, row, col] = seen
    return picture


def test_composites_are_what_pixel_by_pixel_gives(made):
    parts = made.plans[-1].parts.take(np.arange(3))
    parts = replace(parts, marks=np.array([0, 1, 1]))
    bare = replace(parts, backgrounds=np.array([NONE, 0, NONE]), objects=np.array([0, NONE, NONE]))
    for some in (parts, bare):
        composed = made.layers.compose(some)
        for n, picture in enumerate(composed):
            expected = pixel_by_pixel(made.layers, some.targets[n], some.backgrounds[n], some.objects[n], some.marks[n])
            assert np.abs(picture.astype(int) - expected).max() <= some.marks[n]  # rounding of a blend, at most


def test_masks_and_boxes_agree(made):
    parts = made.plans[0].parts
    masks, objects = made.layers.target_masks(parts), made.layers.object_masks(parts)
    assert not (masks & objects).any()
    assert objects.any(axis=(1, 2)).all()
    for mask, (top, left, bottom, right) in zip(masks, made.layers.target_boxes(parts.targets), strict=True):
        rows, cols = np.nonzero(mask)
        assert (rows.min(), cols.min(), rows.max() + 1, cols.max() + 1) == (top, left, bottom, right)
        assert max(bottom - top, right - left) >= round(made.layers.size / 2) - 2


def test_composing_leaves_the_layers_as_they_are(made):
    before = made.layers.backgrounds.copy()
    made.layers.compose(made.plans[0].parts)
    assert np.array_equal(before, made.layers.backgrounds)


def test_layers_are_scaled_once(monkeypatch, tmp_path):
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path))
    sources = {kind: some[:2] for kind, some in procedural({"train": 2, "val": 1, "test": 1}).by_kind.items()}
    first = load_layers(sources, 16)

    def unreadable():
        raise AssertionError("it was read again")

    again = {kind: [replace(source, load=unreadable) for source in some] for kind, some in sources.items()}
    assert np.array_equal(load_layers(again, 16).backgrounds, first.backgrounds)
    with pytest.raises(AssertionError):
        load_layers(again, 17)
    changed = {**again, "target": [replace(source, digest=lambda: "other") for source in again["target"]]}
    with pytest.raises(AssertionError):
        load_layers(changed, 16)


def test_groups_are_those_of_the_sources(made):
    plan = made.plans[-1]
    counts = made.counts(plan)
    assert set(counts.values()) == {1}
    assert len(counts) == 16
    row = made.group_rows(plan, 1, (1, 0, 1))[0]
    assert made.values(plan.parts)[row].tolist() == [1, 0, 1]
