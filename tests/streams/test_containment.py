"""Splits that lie within others: found where the images are the same, and only where the other is measured anyway."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.streams.composites.stream import stream_of
from einstellung.streams.concon import concon
from einstellung.streams.containment import contained, rows_within
from einstellung.streams.stream import EvaluationSplit, ImageSet
from tests.composites.small import few


def split(name, numbers, phase="T1", always=False):
    pixels = torch.tensor(numbers, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    index = torch.tensor(numbers) + 100
    return EvaluationSplit(name, phase, ImageSet.without_cue(pixels, torch.zeros_like(index), index), always=always)


def homes(*splits):
    return {name: (within.home.name, within.rows.tolist()) for name, within in contained(splits).items()}


def test_every_image_is_found_in_its_place():
    assert homes(split("all", [5, 6, 7, 6]), split("some", [7, 5]), split("one more", [5, 8])) == {
        "some": ("all", [2, 0])
    }


def test_a_home_lies_within_no_other():
    assert homes(split("a", [1, 2, 3]), split("b", [3, 2]), split("c", [2])) == {"b": ("a", [2, 1]), "c": ("a", [1])}


def test_a_home_is_an_earlier_split():
    assert homes(split("few", [1]), split("many", [1, 2])) == {}


@pytest.mark.parametrize(
    ("home", "guest", "found"), [(True, True, 1), (True, False, 1), (False, False, 1), (False, True, 0)]
)
def test_a_split_that_is_always_measured_has_no_home_that_is_not(home, guest, found):
    assert len(contained([split("home", [1, 2], always=home), split("guest", [1], always=guest)])) == found


def test_another_phase_is_measured_at_other_times():
    assert homes(split("T1_val", [1, 2]), split("T2_val", [1, 2], "T2"), split("T2_some", [2], "T2")) == {
        "T2_some": ("T2_val", [1])
    }


def test_who_is_called_alike_and_looks_different_is_another():
    some = split("some", [1, 2]).images
    assert rows_within(some, some).tolist() == [0, 1]
    twins = replace(some, images=some.images.clone())
    twins.images[1, 2, 1, 1] += 1
    assert rows_within(twins, some) is None
    assert rows_within(replace(some, index=some.index + 5), some) is None


def test_nothing_lies_within_images_of_another_shape_or_kind():
    some = split("some", [1, 2]).images
    assert rows_within(some, replace(some, images=some.images[:, :1])) is None
    assert rows_within(some, replace(some, images=some.images.float())) is None
    assert rows_within(some.take(torch.arange(0)), some) is None


def test_the_originals_of_twins_lie_within_their_class():
    stream = concon(sees="attributes", train=10, val=5, test=20)
    found = contained(stream.splits)
    for task in ("T1", "T2", "T3"):
        for word in ("positive", "negative"):
            within = found[f"{task}_{word}_paired"]
            assert within.home.name == f"{task}_{word}"
            own, of_home = stream.split(f"{task}_{word}_paired").images, within.home.images
            assert torch.equal(own.images, of_home.images[within.rows])
            assert torch.equal(own.labels, of_home.labels[within.rows])


def test_groups_of_validation_images_lie_within_validation(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    phases, counts = ((0.75, 0.5), (0.5, 0.75)), {"train": 16, "val": 8, "test": 8}
    stream = stream_of(few(size=32, phases=phases, counts=counts), shared=False, seed=0)
    groups = [split.name for split in stream.splits if split.name.startswith("val_")]
    found = contained(stream.splits)
    assert len(groups) == 8
    assert {found[name].home.name for name in groups} == {"T2_val"}
    assert sorted(int(row) for name in groups for row in found[name].rows) == list(range(16))
