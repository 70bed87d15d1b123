"""Swaps of one cue: the value changes, the rest stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from einstellung.composites.split_plan import NONE
from einstellung.composites.watermark_mask import watermarked
from einstellung.randomness import generator
from tests.streams.composites.conftest import CUES


def test_twins_are_the_layers_with_one_part_exchanged(stream, table):
    """The very parts, looked up by hand: all but one are the original's."""
    layers = table.layers
    for split, change in (
        ("background_covered", {"backgrounds": NONE}),
        ("co-object_covered", {"objects": NONE}),
        ("watermark_covered", {"marks": 0}),
    ):
        images = stream.split(split).images
        parts = table.parts.take(images.index.numpy())
        parts = replace(parts, **{name: np.full(len(parts), value) for name, value in change.items()})
        assert np.array_equal(images.images.numpy(), layers.compose(parts))
    marked = stream.split("watermark_common").images
    bare = table.parts.take(marked.index.numpy())
    bare = layers.compose(replace(bare, marks=np.zeros(len(bare), dtype=np.int64)))
    was = marked.labels.numpy() == 1  # common: the watermark goes with class 1
    swapped = stream.split("watermark_swapped").images.images.numpy()
    assert np.array_equal(marked.images.numpy()[was], watermarked(bare[was]))
    assert np.array_equal(marked.images.numpy()[~was], bare[~was])
    assert np.array_equal(swapped[was], bare[was])
    assert np.array_equal(swapped[~was], watermarked(bare[~was]))


@pytest.mark.parametrize("cue", CUES)
def test_a_swap_changes_the_value_and_keeps_the_rest(stream, table, cue):
    bit = CUES.index(cue)
    train = stream.phases[0].train
    swapped = stream.interventions[cue].swapped(train, generator(0, "test"))
    assert torch.equal(swapped.labels, train.labels)
    assert torch.equal(swapped.index, train.index)
    assert not bool(swapped.has_cue.any())
    assert torch.equal(swapped.features, train.features ^ (1 << bit))
    assert bool((swapped.images != train.images).flatten(1).any(dim=1).all())
    masks = torch.from_numpy(table.layers.target_masks(table.parts.take(train.index.numpy())))
    if cue != "watermark":
        kept = masks.unsqueeze(1).expand_as(train.images)
        assert torch.equal(swapped.images[kept], train.images[kept])
    again = stream.interventions[cue].swapped(train, generator(0, "test"))
    assert torch.equal(again.images, swapped.images)
    if cue != "watermark":
        other = stream.interventions[cue].swapped(train, generator(1, "test"))
        assert not torch.equal(other.images, swapped.images)


def test_partners_are_those_of_the_images_own_split(stream, table):
    """A thousand draws for every image: only sources of its phase and of the other value, each about as often."""
    swap = stream.interventions["background"]
    for name in ("T1", "T2", "val", "test"):
        row = table.rows(name)[:1]
        chosen = swap.parts(np.repeat(row, 1000), (np.arange(1000) + 0.5) / 1000)
        used = np.unique(table.parts.backgrounds[table.rows(name)])
        wanted = used[table.layers.values["background"][used] != table.values[row[0], 0]]
        found, counts = np.unique(chosen.backgrounds, return_counts=True)
        assert found.tolist() == wanted.tolist()
        assert counts.max() - counts.min() <= 1
        assert (chosen.targets == table.parts.targets[row]).all()
        assert (chosen.objects == table.parts.objects[row]).all()


def test_rows_of_several_splits_are_swapped_together(stream, table):
    both = torch.cat([phase.train.index[:5] for phase in stream.phases])
    images = table.images(both.numpy())
    swapped = stream.interventions["co-object"].swapped(images, generator(0, "mixed"))
    assert torch.equal(swapped.features, images.features ^ 2)


def test_an_image_that_was_changed_is_not_changed_again(stream):
    few_images = stream.phases[0].train.take(torch.arange(4))
    once = stream.interventions["background"].swapped(few_images, generator(0, "test"))
    with pytest.raises(ValueError, match="only be swapped in unchanged images of the stream"):
        stream.interventions["co-object"].swapped(once, generator(0, "test"))
