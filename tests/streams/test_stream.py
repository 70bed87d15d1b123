"""Image sets, the intervention on a planted cue, and what a stream declares."""

from __future__ import annotations

import torch

from einstellung.streams import ImageSet
from einstellung.streams.composites.stream import stream_of
from einstellung.streams.concon.stream import concon
from einstellung.streams.stream import TogglePlantedCue
from tests.composites.small import few


def images(numbers: list[int], features: list[int] | None = None) -> ImageSet:
    index = torch.tensor(numbers)
    pixels = index.to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    bits = None if features is None else torch.tensor(features)
    return ImageSet(pixels, index % 2, index, index > 2, bits)


def test_take_keeps_the_given_order():
    taken = images([1, 2, 3], [4, 5, 6]).take(torch.tensor([2, 0]))
    assert taken.index.tolist() == [3, 1]
    assert taken.has_cue.tolist() == [True, False]
    assert taken.features.tolist() == [6, 4]


def test_joined_sets_know_features_only_where_all_of_them_do():
    assert ImageSet.joined([images([1], [7]), images([2], [8])]).features.tolist() == [7, 8]
    assert ImageSet.joined([images([1], [7]), images([2])]).features is None
    assert ImageSet.joined([images([1]), images([2, 3])]).index.tolist() == [1, 2, 3]


def test_the_planted_cue_stands_in_for_unknown_features():
    assert images([1, 3]).spurious().tolist() == [0, 1]
    assert images([1, 3], [2, 5]).spurious().tolist() == [2, 5]


def test_toggling_the_planted_cue_changes_nothing_else():
    before = images([1, 3])
    after = TogglePlantedCue().swapped(before, torch.Generator())
    assert after.has_cue.tolist() == [True, False]
    assert torch.equal(after.images, before.images)


def test_every_stream_declares_its_diagnosis(small_stream, monkeypatch):
    tables = concon(input_modality="attributes", train=8, val=2, test=4)
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    composites = stream_of(few(size=32, counts={"train": 16, "val": 8, "test": 8}), shared=False, seed=0)
    assert [stream.diagnosis for stream in (small_stream, tables, composites)] == [
        "rigidity",
        "confounding",
        "shortcuts",
    ]
