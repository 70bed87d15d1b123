"""The table of all composites."""

from __future__ import annotations

from dataclasses import replace

from einstellung.streams.composites.stream import stream_of


def test_target_boxes(stream, table):
    train = stream.phases[1].train
    boxes = stream.target_boxes(train)
    masks = table.layers.target_masks(table.parts.take(train.index.numpy()))
    for mask, (top, left, bottom, right) in zip(masks, boxes.tolist(), strict=True):
        assert mask[top:bottom, left:right].sum() == mask.sum()
        assert mask[top].any()
        assert mask[bottom - 1].any()
        assert mask[:, left].any()
        assert mask[:, right - 1].any()


def test_the_co_object_of_every_test_image_is_told(stream, table, composed):
    shared = stream.shared_sources
    tested = {
        index for split in stream.splits if split.name.startswith("group_") for index in split.images.index.tolist()
    }
    assert set(shared["index"]) == tested
    for index, source, value in zip(*(shared[name] for name in ("index", "source", "value")), strict=True):
        assert table.parts.objects[index] == source
        assert table.values[index, 1] == value
    assert len(set(shared["source"])) < len(tested)  # objects recur
    assert stream_of(replace(composed, sources_known=False), shared=False, seed=0).shared_sources == {}
