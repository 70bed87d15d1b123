"""Which images get the planted cue, and the splits that show the same images with and without it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import PatchCue
from einstellung.streams import shapes
from einstellung.streams.planted import exact_share


@given(share=st.floats(0, 1), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_every_class_gets_exactly_its_share(share, sizes):
    labels = torch.cat([torch.full((size,), label) for label, size in enumerate(sizes)])
    chosen = exact_share(torch.arange(len(labels)), labels, share, salt=7)
    for label, size in enumerate(sizes):
        assert int(chosen[labels == label].sum()) == int(share * size + 0.5)


def test_the_choice_follows_the_images_not_their_order():
    labels, index = torch.zeros(50, dtype=torch.long), torch.arange(50)
    turned = torch.arange(49, -1, -1)
    assert torch.equal(exact_share(index[turned], labels, 0.3, 1), exact_share(index, labels, 0.3, 1)[turned])


def test_share_concerns_training_and_validation_but_never_the_test_images():
    half = shapes(PatchCue(share=0.5), train_per_class=20, test_per_class=3)
    train = half.phases[1].train
    cue_class = train.labels < 30
    assert int(train.has_cue[cue_class].sum()) == 6 * 9
    assert int(train.has_cue[~cue_class].sum()) == 0
    patched, clean = half.split("T2_shortcut_normal").images, half.split("T2_shortcut_clean").images
    assert bool((patched.images != clean.images).flatten(1).any(dim=1).all())


def test_patched_and_masked_hold_the_same_images_in_the_same_order(small_stream):
    patched = small_stream.split("T2_shortcut_normal").images
    masked = small_stream.split("T2_shortcut_masked").images
    assert torch.equal(patched.index, masked.index)
    assert torch.equal(patched.labels, masked.labels)
    assert torch.equal(patched.images[:, :, 4:], masked.images[:, :, 4:])
    assert masked.images[:, :, :4, :4].unique().tolist() == [0]
    assert patched.images[:, :, :4, :4].unique().tolist() == [0, 255]


def test_validation_is_held_out_of_training(small_stream):
    held_out = set(small_stream.split("T2_val").images.index.tolist())
    assert not held_out & set(small_stream.phases[1].train.index.tolist())
    assert len(held_out) == 12


def test_the_cue_elsewhere_on_the_same_images(small_stream):
    clean = small_stream.split("T2_shortcut_clean").images
    moved = small_stream.split("T2_shortcut_elsewhere").images
    assert torch.equal(moved.index, clean.index)
    assert torch.equal(moved.labels, clean.labels)
    expected = clean.images.clone()
    expected[:, :, 28:, 28:] = torch.tensor([255, 0, 255], dtype=torch.uint8).view(3, 1, 1)
    assert torch.equal(moved.images, expected)


@pytest.mark.parametrize(("size", "there"), [(16, True), (17, False), (32, False)])
def test_a_cue_too_large_for_a_second_place_is_not_shown_elsewhere(size, there):
    stream = shapes(PatchCue(size=size), train_per_class=10, test_per_class=2)
    assert ("T2_shortcut_elsewhere" in [split.name for split in stream.splits]) is there
    assert ("cue_elsewhere" in stream.facts) is not there
