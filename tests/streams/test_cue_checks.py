"""Every check of the cue fails on the stream that violates it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.streams import prove, shapes
from einstellung.streams.cue_checks import cue_elsewhere, mask_covers_patch
from einstellung.streams.stream import Habit
from tests.streams.broken import failed, with_split, with_train


def test_the_cue_left_out_of_training(small_stream):
    train = small_stream.phases[1].train
    broken = with_train(small_stream, 1, replace(train, has_cue=torch.zeros_like(train.has_cue)))
    assert failed(broken) == ["training shows the cue where configured"]


def test_the_cue_on_a_class_without_it(small_stream):
    train = small_stream.phases[1].train
    broken = with_train(small_stream, 1, replace(train, has_cue=torch.ones_like(train.has_cue)))
    assert failed(broken) == ["training shows the cue where configured"]


def test_the_cue_in_the_first_phase(small_stream):
    train = small_stream.phases[0].train
    has_cue = train.has_cue.clone()
    has_cue[3] = True
    assert "training shows the cue where configured" in failed(
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
        "the displaced cue is present and clear of its usual place"
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
    assert failed(broken) == ["the displaced cue is present and clear of its usual place"]
    at_home = with_split(small_stream, "T2_shortcut_elsewhere", small_stream.split("T2_shortcut_normal").images)
    assert failed(replace(at_home, cue=NeverMoves())) == ["the displaced cue is present and clear of its usual place"]


def test_masked_images_in_another_order(small_stream):
    masked = small_stream.split("T2_shortcut_masked").images
    broken = with_split(small_stream, "T2_shortcut_masked", masked.take(torch.arange(len(masked) - 1, -1, -1)))
    assert "the mask covers exactly the cue, on the same image" in failed(broken)


SEEN = "training shows the cue where configured"
COVERED = "the mask covers exactly the cue, on the same image"


def with_habit(**cue):
    return shapes(PatchCue(**{"habit": "other"} | cue), train_per_class=10, test_per_class=3)


@pytest.mark.parametrize("habit", ["same", "other"])
@pytest.mark.parametrize("place", ["top-left", "random"])
@pytest.mark.parametrize("opacity", [1.0, 0.5])
def test_an_honest_habit_proves_itself(habit, place, opacity):
    stream = with_habit(habit=habit, place=place, opacity=opacity, share_nsc=0.3)
    assert failed(stream) == []
    assert prove(stream).holds


def test_a_share_of_the_other_classes_that_got_lost(small_stream):
    assert failed(replace(small_stream, cue=PatchCue(share_nsc=0.5))) == [SEEN]


@pytest.mark.parametrize("kind", ["none", "the other classes", "one image less", "one image more"])
def test_a_habit_on_other_images_than_it_should_be(kind):
    stream = with_habit()
    train = stream.phases[0].train
    has_cue = train.has_cue.clone()
    if kind == "none":
        has_cue[:] = False
    elif kind == "the other classes":
        has_cue = ~has_cue
        stream = replace(stream, habit=Habit(stream.habit.cue, stream.phases[0].classes[12:]))
    else:
        less = kind == "one image less"
        has_cue[int(has_cue.nonzero()[0] if less else (~has_cue).nonzero()[0])] = not less
    assert SEEN in failed(with_train(stream, 0, replace(train, has_cue=has_cue)))


@pytest.mark.parametrize(("asked", "painted"), [("other", PatchCue()), ("same", PatchCue().other())])
def test_a_habit_of_another_cue_than_asked_for(asked, painted):
    stream = with_habit(habit=asked)
    assert SEEN in failed(replace(stream, habit=Habit(painted, stream.habit.classes)))


def test_a_habit_that_nobody_paints():
    assert SEEN in failed(replace(with_habit(), habit=None))


@pytest.mark.parametrize("opacity", [1.0, 0.5])
def test_a_split_of_the_habit_that_does_not_show_it(opacity):
    stream = with_habit(opacity=opacity)
    shown = stream.split("T1_habit_normal").images
    black = shown.images.clone()
    black[1, :, 28:, 28:] = 0  # as if the cue had never been there
    found = {
        check.name: check for check in prove(with_split(stream, "T1_habit_normal", replace(shown, images=black))).checks
    }
    assert found[COVERED].passed is False
    assert "1 of 36 images of T1_habit_normal do not have the cue painted on" in found[COVERED].detail


def test_a_mask_of_the_habit_at_the_place_of_t2s_cue():
    stream = with_habit()
    shown, masked = (stream.split(f"T1_habit_{name}").images for name in ("normal", "masked"))
    images = shown.images.clone()
    images[:, :, :4, :4] = 0
    assert failed(with_split(stream, "T1_habit_masked", replace(masked, images=images))) == [COVERED]


def test_what_no_split_shows_is_not_checked_and_does_not_fail(small_stream):
    large = shapes(PatchCue(size=17), train_per_class=10, test_per_class=2)
    moved = cue_elsewhere(large)
    assert (moved.passed, moved.detail) == (None, "not checked: no split shows the cue displaced")
    proof = prove(large)
    assert proof.holds
    proof.require()
    nothing_covered = replace(small_stream, pairs=tuple(pair for pair in small_stream.pairs if pair.masked is None))
    covered = mask_covers_patch(nothing_covered)
    assert (covered.passed, covered.detail) == (None, "not checked: no split shows the cue covered")
    assert cue_elsewhere(small_stream).passed is True
    assert mask_covers_patch(small_stream).passed is True
