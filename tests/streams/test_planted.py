"""Which images get the planted cue, and the splits that show the same images with and without it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import shapes
from einstellung.streams.planted import HeadClasses, exact_share, habit_of


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


def counts(images):
    """How many images of every class have a cue, and how many there are."""
    pairs = [(images.has_cue[images.labels == label], label) for label in images.labels.unique().tolist()]
    return {label: (int(has_cue.sum()), len(has_cue)) for has_cue, label in pairs}


@pytest.mark.parametrize(("share", "share_nsc"), [(1.0, 0.25), (0.5, 0.5), (0.0, 1.0)])
def test_other_classes_of_t2_get_exactly_their_share(share, share_nsc):
    stream = shapes(PatchCue(share=share, share_nsc=share_nsc), train_per_class=20, test_per_class=3)
    t1, t2 = stream.phases
    for label, (found, size) in counts(t2.train).items():
        assert size == 18
        assert found == int((share if label in t2.cue_classes else share_nsc) * 18 + 0.5)
    assert not bool(t1.train.has_cue.any())
    assert not bool(stream.split("T2_nonshortcut_normal").images.has_cue.any())


def test_equal_shares_choose_the_images_that_one_share_chooses():
    """With the same share everywhere, no class is chosen from in another way than the cue classes alone."""
    alone, both = (
        shapes(PatchCue(share=0.4, share_nsc=other), train_per_class=20, test_per_class=2).phases[1]
        for other in (0.0, 0.4)
    )
    cue_class = torch.isin(alone.train.labels, torch.tensor(alone.cue_classes))
    assert torch.equal(alone.train.has_cue[cue_class], both.train.has_cue[cue_class])
    assert int(both.train.has_cue[~cue_class].sum()) > 0


@pytest.mark.parametrize("habit", ["same", "other"])
def test_a_habit_is_on_all_images_of_the_first_half_of_t1(habit):
    stream = shapes(PatchCue(share=0.5, habit=habit), train_per_class=10, test_per_class=3)
    t1, t2 = stream.phases
    assert t1.cue_classes == stream.habit.classes == t1.classes[:12]
    assert counts(t1.train) == {label: (10 if label in t1.cue_classes else 0, 10) for label in t1.classes}
    assert {label for label, (found, _) in counts(t2.train).items() if found} == set(t2.cue_classes)


@pytest.mark.parametrize(
    ("habit", "colour", "rows"), [("same", (255, 0, 255), slice(0, 4)), ("other", (0, 255, 0), slice(28, 32))]
)
def test_t1_is_evaluated_with_its_habit_and_with_it_covered(habit, colour, rows):
    plain = shapes(PatchCue(), train_per_class=10, test_per_class=3).split("T1_all").images
    stream = shapes(PatchCue(habit=habit), train_per_class=10, test_per_class=3)
    everything, normal, masked = (stream.split(f"T1_{name}").images for name in ("all", "habit_normal", "habit_masked"))
    own = torch.isin(plain.labels, torch.tensor(stream.habit.classes))
    expected = plain.images[own].clone()
    expected[:, :, rows, rows] = torch.tensor(colour, dtype=torch.uint8).view(3, 1, 1)
    assert torch.equal(normal.images, expected)
    expected[:, :, rows, rows] = 0
    assert torch.equal(masked.images, expected)
    assert torch.equal(normal.index, plain.index[own])
    assert torch.equal(masked.index, plain.index[own])
    assert torch.equal(everything.images[own], normal.images)
    assert torch.equal(everything.images[~own], plain.images[~own])
    assert torch.equal(everything.has_cue, own)


def test_without_a_habit_there_are_no_splits_of_it():
    names = [split.name for split in shapes(PatchCue(), train_per_class=10, test_per_class=2).splits]
    assert not [name for name in names if "habit" in name]


@pytest.mark.parametrize("habit", ["same", "other"])
def test_a_habit_of_a_single_class_is_refused(habit):
    classes = HeadClasses(t1=(0,), sc=(1,), nsc=(2,), names=("one", "two", "three"))
    with pytest.raises(InputError, match=f"cue.habit is '{habit}', but T1 has a single class"):
        habit_of(PatchCue(habit=habit), classes)
    assert habit_of(PatchCue(), classes) is None


def test_a_cue_that_has_no_other_is_refused_for_that():
    class Plain:
        share, habit = 1.0, "other"

    classes = HeadClasses(t1=(0, 1), sc=(2,), nsc=(3,), names=("one", "two", "three", "four"))
    with pytest.raises(InputError, match=r"the cue Plain has no method other\(\)"):
        habit_of(Plain(), classes)
    cue = Plain()
    cue.habit = "same"
    assert habit_of(cue, classes).cue is cue
