"""Exact shares, and the pairs of images that ERI compares."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import PatchCue
from einstellung.streams import Stream, prove, shapes
from einstellung.streams.duplicates import Duplicates
from einstellung.streams.planted import exact_share
from einstellung.streams.two_phase import LabelledImages, Split, two_phase


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


# A source of six fine classes in three superclasses: the fine ids are not in the order of the superclasses.
SUPERCLASS_OF = [2, 0, 1, 0, 1, 2]
FINE_NAMES, SUPERCLASS_NAMES = ["oak", "cat", "bus", "dog", "car", "elm"], ["pets", "vehicles", "trees"]


def noise(per_class: int, seed: int) -> LabelledImages:
    draws = torch.Generator().manual_seed(seed)
    fine = torch.arange(6).repeat(per_class)
    images = torch.randint(0, 256, (len(fine), 3, 8, 8), dtype=torch.uint8, generator=draws)
    return LabelledImages(images, fine)


def build(
    train: LabelledImages, test: LabelledImages, cue: PatchCue, known: Duplicates | None = None, **split
) -> Stream:
    chosen = Split(t1=(1,), t2=(2, 0), shortcut=(2,), **split)
    names = (SUPERCLASS_OF, FINE_NAMES, SUPERCLASS_NAMES)
    return two_phase(
        "six", train, test, *names, chosen, cue, "noise", (0.5,) * 3, (0.2,) * 3, crop_padding=1, duplicates=known
    )


CUE = PatchCue(size=2)


def test_labels_by_hand_at_both_levels():
    """T1 is vehicles (bus 2, car 4), the cue is on trees (oak 0, elm 5), pets (cat 1, dog 3) come last."""
    train, test = noise(10, 0), noise(4, 1)
    fine, coarse = (build(train, test, CUE, labels=level) for level in ("fine", "superclass"))
    assert fine.class_names == ("bus", "car", "oak", "elm", "cat", "dog")
    assert coarse.class_names == ("vehicles", "trees", "pets")
    label_of = {"fine": [2, 4, 0, 5, 1, 3], "superclass": [1, 2, 0, 2, 0, 1]}
    for stream, by_fine in ((fine, label_of["fine"]), (coarse, label_of["superclass"])):
        for images in (stream.phases[0].train, stream.phases[1].train, stream.split("T2_val").images):
            assert images.labels.tolist() == [by_fine[row % 6] for row in images.index.tolist()]
        for split in stream.splits:
            assert split.images.labels.tolist() == [by_fine[row % 6] for row in split.images.index.tolist()]
    assert [(p.classes, p.cue_classes) for p in fine.phases] == [((0, 1), ()), ((2, 3, 4, 5), (2, 3))]
    assert [(p.classes, p.cue_classes) for p in coarse.phases] == [((0,), ()), ((1, 2), (1,))]
    assert fine.facts["superclasses"]["SC"] == ["trees"]


def test_levels_hold_the_same_images():
    train, test = noise(10, 0), noise(4, 1)
    fine, coarse = (build(train, test, CUE, labels=level) for level in ("fine", "superclass"))
    for one, other in zip(fine.phases, coarse.phases, strict=True):
        assert torch.equal(one.train.index, other.train.index)
    for one, other in zip(fine.splits, coarse.splits, strict=True):
        assert torch.equal(one.images.images, other.images.images)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize(("level", "levels"), [("fine", (1 / 6, 1 / 4, 1 / 2)), ("superclass", (1 / 3, 1 / 2, 1.0))])
def test_chance_levels_of_both_label_levels(level, levels, share):
    proof = prove(build(noise(10, 0), noise(4, 1), PatchCue(size=2, share=share), labels=level))
    proof.require()
    assert (proof.facts["chance"], proof.facts["chance_task"], proof.facts["cue_alone"]) == pytest.approx(levels)


def test_the_first_images_of_a_class():
    rows = LabelledImages(torch.zeros(7), torch.tensor([1, 0, 1, 2, 1, 0, 0])).rows([0, 1], per_class=2)
    assert rows.tolist() == [0, 1, 2, 5]


class WithTwins:
    """Three pairs of twins, put in by hand: T1 and test, T2's two phases' training, T2's training and validation."""

    def __init__(self) -> None:
        self.train, self.test = noise(10, 0), noise(4, 1)
        plain = build(self.train, self.test, CUE)
        self.t1_row = int(plain.phases[0].train.index[3])
        t2_rows = plain.phases[1].train.index
        bearing = plain.phases[1].train.has_cue
        self.t2_row, self.t2_other = int(t2_rows[bearing][2]), int(t2_rows[~bearing][1])
        self.val_row = int(plain.split("T2_val").images.index[0])
        self.test_row = int(plain.split("T1_all").images.index[1])
        self.test.images[self.test_row] = self.train.images[self.t1_row]
        self.train.images[self.t2_row] = self.train.images[self.t1_row]
        self.train.images[self.val_row] = self.train.images[self.t2_other]
        self.pairs = (
            ((self.t1_row, self.t2_row), (self.val_row, self.t2_other)),
            ((self.t1_row, self.test_row),),
        )


def test_known_twins_are_reported():
    twins = WithTwins()
    stream = build(twins.train, twins.test, CUE, Duplicates(*twins.pairs))
    assert (stream.duplicates_allowed, stream.phase_duplicates_allowed, stream.left_out) == (2, 1, 0)
    assert stream.facts["duplicates"] == (
        "evaluation images that are also training images, pixel for pixel: 2 (1 in T1_all, 1 in T2_val), measured like the "
        "others; training images of T2 that are also in T1: 1, trained on in both"
    )
    prove(stream).require()


def test_known_twins_are_left_out():
    twins = WithTwins()
    stream = build(twins.train, twins.test, PatchCue(size=2, share=0.5), Duplicates(*twins.pairs, handling="drop"))
    assert (stream.duplicates_allowed, stream.phase_duplicates_allowed, stream.left_out) == (0, 0, 2)
    assert twins.test_row not in stream.split("T1_all").images.index
    assert twins.val_row not in stream.split("T2_val").images.index
    assert twins.t2_row not in stream.phases[1].train.index
    assert twins.t1_row in stream.phases[0].train.index
    assert twins.t2_other in stream.phases[1].train.index
    assert stream.facts["duplicates"].endswith("left out; training images of T2 that are also in T1: 1, left out of T2")
    prove(stream).require()


def test_unknown_twins_stop_the_proof():
    twins = WithTwins()
    failed = [check.name for check in prove(build(twins.train, twins.test, CUE)).checks if not check.passed]
    assert failed == ["phases share no image", "training and evaluation share no image"]
