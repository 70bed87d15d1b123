"""Every check of the cue fails on the stream that violates it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.streams import shapes
from tests.streams.broken import failed, with_split, with_train


def test_the_cue_left_out_of_training(small_stream):
    train = small_stream.phases[1].train
    broken = with_train(small_stream, 1, replace(train, has_cue=torch.zeros_like(train.has_cue)))
    assert failed(broken) == ["the cue is where training should see it"]


def test_the_cue_on_a_class_without_it(small_stream):
    train = small_stream.phases[1].train
    broken = with_train(small_stream, 1, replace(train, has_cue=torch.ones_like(train.has_cue)))
    assert failed(broken) == ["the cue is where training should see it"]


def test_the_cue_in_the_first_phase(small_stream):
    train = small_stream.phases[0].train
    has_cue = train.has_cue.clone()
    has_cue[3] = True
    assert "the cue is where training should see it" in failed(
        with_train(small_stream, 0, replace(train, has_cue=has_cue))
    )


@pytest.mark.parametrize("kind", ["beside", "elsewhere too", "not at all", "another image"])
def test_a_mask_that_does_not_cover_the_patch(small_stream, kind):
    patched = small_stream.split("T2_shortcut_normal").images
    masked = small_stream.split("T2_shortcut_masked").images
    images = masked.images.clone()
    if kind == "beside":
        images = patched.images.clone()
        images[:, :, 10:14, 10:14] = 0
    elif kind == "elsewhere too":
        images[0, :, 20, 20] = 255 - images[0, :, 20, 20]
    elif kind == "not at all":
        images = patched.images
    else:
        images = images.roll(1, dims=0)
    broken = with_split(small_stream, "T2_shortcut_masked", replace(masked, images=images))
    assert failed(broken) == ["the mask covers exactly the cue, on the same image"]


class RegionShifted(PatchCue):
    """Says that it is six pixels to the right of where it paints."""

    def region(self, index, height, width):
        return super().region(index, height, width).roll(6, dims=-1)


class RegionTooSmall(PatchCue):
    """Names only its first row."""

    def region(self, index, height, width):
        region = super().region(index, height, width).clone()
        region[:, :, 1:] = False
        return region


@pytest.mark.parametrize("cue", [RegionShifted(), RegionTooSmall()])
def test_a_cue_that_is_painted_elsewhere_than_it_says(cue):
    broken = shapes(cue, train_per_class=10, test_per_class=2)
    assert failed(broken) == ["the mask covers exactly the cue, on the same image"]


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (128, 128, 128)])
def test_a_cue_of_any_colour_can_be_proved(colour):
    """Black on a padded corner changes no pixel there, yet it is the cue."""
    assert failed(shapes(PatchCue(colour=colour), "noise", train_per_class=10, test_per_class=2)) == []


@pytest.mark.parametrize("kind", ["at its usual place", "not at all", "another image", "beside too", "another order"])
def test_a_displaced_cue_that_is_not_where_it_should_be(small_stream, kind):
    clean, moved = (small_stream.split(f"T2_shortcut_{name}").images for name in ("clean", "elsewhere"))
    images = moved.images.clone()
    if kind == "at its usual place":
        images = small_stream.split("T2_shortcut_normal").images.images
    elif kind == "not at all":
        images = clean.images
    elif kind == "another image":
        images = images.roll(1, dims=0)
    elif kind == "beside too":
        images[2, :, 14, 14] = 255 - images[2, :, 14, 14]
    broken = replace(moved, images=images)
    if kind == "another order":
        broken = moved.take(torch.arange(len(moved) - 1, -1, -1))
    assert failed(with_split(small_stream, "T2_shortcut_elsewhere", broken)) == [
        "the displaced cue is there, and not at its usual place"
    ]


class NeverMoves(PatchCue):
    """Says that it can be elsewhere, and stays."""

    def elsewhere(self):
        return self


class ShrinksElsewhere(PatchCue):
    """Is smaller at its other place."""

    def elsewhere(self):
        return PatchCue(size=self.size - 1, place="bottom-right")


def test_a_cue_that_is_another_one_elsewhere(small_stream):
    broken = shapes(ShrinksElsewhere(), train_per_class=10, test_per_class=2)
    assert failed(broken) == ["the displaced cue is there, and not at its usual place"]
    at_home = with_split(small_stream, "T2_shortcut_elsewhere", small_stream.split("T2_shortcut_normal").images)
    assert failed(replace(at_home, cue=NeverMoves())) == ["the displaced cue is there, and not at its usual place"]


def test_masked_images_in_another_order(small_stream):
    masked = small_stream.split("T2_shortcut_masked").images
    broken = with_split(small_stream, "T2_shortcut_masked", masked.take(torch.arange(len(masked) - 1, -1, -1)))
    assert "the mask covers exactly the cue, on the same image" in failed(broken)
