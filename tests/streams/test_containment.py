"""Splits that are contained in others: same index, same pixels, same phase, and a container that is measured as often."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.streams.composites.stream import stream_of
from einstellung.streams.concon import concon
from einstellung.streams.containment import contained_splits, rows_within
from einstellung.streams.stream import EvaluationSplit, ImageSet
from tests.composites.small import few


def split(name, numbers, phase="T1", always=False):
    pixels = torch.tensor(numbers, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    index = torch.tensor(numbers) + 100
    return EvaluationSplit(name, phase, ImageSet.without_cue(pixels, torch.zeros_like(index), index), always=always)


def containers(*splits):
    return {name: (subset.container.name, subset.rows.tolist()) for name, subset in contained_splits(splits).items()}


def test_every_image_is_found_in_its_place():
    assert containers(split("all", [5, 6, 7, 6]), split("some", [7, 5]), split("one more", [5, 8])) == {
        "some": ("all", [2, 0])
    }


def test_a_container_is_not_contained_itself():
    assert containers(split("a", [1, 2, 3]), split("b", [3, 2]), split("c", [2])) == {
        "b": ("a", [2, 1]),
        "c": ("a", [1]),
    }


def test_a_container_is_an_earlier_split():
    assert containers(split("few", [1]), split("many", [1, 2])) == {}


@pytest.mark.parametrize(
    ("parent", "subset", "found"), [(True, True, 1), (True, False, 1), (False, False, 1), (False, True, 0)]
)
def test_a_container_is_measured_as_often_as_what_it_contains(parent, subset, found):
    assert len(contained_splits([split("parent", [1, 2], always=parent), split("subset", [1], always=subset)])) == found


def test_another_phase_is_measured_at_other_times():
    assert containers(split("T1_val", [1, 2]), split("T2_val", [1, 2], "T2"), split("T2_some", [2], "T2")) == {
        "T2_some": ("T2_val", [1])
    }


def test_the_same_index_with_other_pixels_is_another_image():
    some = split("some", [1, 2]).images
    assert rows_within(some, some).tolist() == [0, 1]
    changed = replace(some, images=some.images.clone())
    changed.images[1, 2, 1, 1] += 1
    assert rows_within(changed, some) is None
    assert rows_within(replace(some, index=some.index + 5), some) is None


def test_images_of_another_shape_or_type_contain_nothing():
    some = split("some", [1, 2]).images
    assert rows_within(some, replace(some, images=some.images[:, :1])) is None
    assert rows_within(some, replace(some, images=some.images.float())) is None
    assert rows_within(some.take(torch.arange(0)), some) is None


def test_the_originals_of_twins_are_contained_in_their_class():
    stream = concon(input_modality="attributes", train=10, val=5, test=20)
    found = contained_splits(stream.splits)
    for task in ("T1", "T2", "T3"):
        for word in ("positive", "negative"):
            subset = found[f"{task}_{word}_paired"]
            assert subset.container.name == f"{task}_{word}"
            own, parent = stream.split(f"{task}_{word}_paired").images, subset.container.images
            assert torch.equal(own.images, parent.images[subset.rows])
            assert torch.equal(own.labels, parent.labels[subset.rows])


def test_groups_of_validation_images_are_contained_in_validation(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    phases, counts = ((0.75, 0.5), (0.5, 0.75)), {"train": 16, "val": 8, "test": 8}
    stream = stream_of(few(size=32, phases=phases, counts=counts), shared=False, seed=0)
    groups = [split.name for split in stream.splits if split.name.startswith("val_")]
    found = contained_splits(stream.splits)
    assert len(groups) == 8
    assert {found[name].container.name for name in groups} == {"T2_val"}
    assert sorted(int(row) for name in groups for row in found[name].rows) == list(range(16))
