"""The table of all composites."""

from __future__ import annotations


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
