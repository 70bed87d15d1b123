"""Every check of the proof fails on the stream that violates it, and the run stops with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.streams import ImageSet, prove, shapes
from einstellung.streams.proof import _CHECKS
from tests.streams.broken import failed, with_split, with_train


@pytest.mark.parametrize(
    "cue", [PatchCue(), PatchCue(place="per-index"), PatchCue(place="random"), PatchCue(share=0.3)]
)
@pytest.mark.parametrize("cover", ["black", "mean", "noise", "blur", "inpaint"])
def test_an_honest_stream_proves_itself(cue, cover):
    proof = prove(shapes(cue, cover, train_per_class=10, test_per_class=2))
    assert proof.holds
    proof.require()
    assert len(proof.checks) == len(_CHECKS)


def test_a_shared_image(small_stream):
    t1, t2 = small_stream.phases
    images = t2.train.images.clone()
    images[0] = t1.train.images[0]
    assert failed(with_train(small_stream, 1, replace(t2.train, images=images))) == ["phases share no image"]


def test_a_shared_identity(small_stream):
    t1, t2 = small_stream.phases
    index = t2.train.index.clone()
    index[0] = t1.train.index[0]
    assert "phases share no image" in failed(with_train(small_stream, 1, replace(t2.train, index=index)))


def test_a_shared_class(small_stream):
    t1 = small_stream.phases[0]
    phases = (replace(t1, classes=(*t1.classes, 24)), small_stream.phases[1])
    assert "phases share no class" in failed(replace(small_stream, phases=phases))


def test_a_phase_with_the_others_labels(small_stream):
    t2 = small_stream.phases[1]
    broken = with_train(small_stream, 1, replace(t2.train, labels=t2.train.labels - 24))
    assert "labels belong to their phase" in failed(broken)


def test_both_phases_a_mixture_of_all_classes(small_stream):
    """What a cache that is indexed by the wrong position does to a split."""
    t1, t2 = (phase.train for phase in small_stream.phases)
    everything = ImageSet(
        *(torch.cat([getattr(t1, name), getattr(t2, name)]) for name in ("images", "labels", "index", "has_cue"))
    )
    shuffled = everything.take(torch.randperm(len(everything), generator=torch.Generator().manual_seed(0)))
    broken = with_train(small_stream, 0, shuffled.take(torch.arange(len(t1))))
    broken = with_train(broken, 1, shuffled.take(torch.arange(len(t1), len(everything))))
    assert "labels belong to their phase" in failed(broken)


def test_images_left_out_as_duplicates_and_no_more(small_stream):
    all_images = small_stream.split("T1_all").images
    two_short = with_split(small_stream, "T1_all", all_images.take(torch.arange(2, len(all_images))))
    assert failed(replace(two_short, left_out=2)) == []
    assert failed(replace(two_short, left_out=1)) == ["classes have equal weight, so the chance levels hold"]


def test_a_shared_image_that_is_known(small_stream):
    t1, t2 = small_stream.phases
    images = t2.train.images.clone()
    images[0] = t1.train.images[0]
    known = replace(with_train(small_stream, 1, replace(t2.train, images=images)), phase_duplicates_allowed=1)
    assert failed(known) == []
    images[1] = t1.train.images[1]
    assert failed(with_train(known, 1, replace(t2.train, images=images))) == ["phases share no image"]


def test_a_test_image_that_was_trained_on(small_stream):
    train = small_stream.phases[0].train
    test = small_stream.split("T1_all").images
    images = test.images.clone()
    images[0] = train.images[0]
    broken = with_split(small_stream, "T1_all", replace(test, images=images))
    assert failed(broken) == ["training and evaluation share no image"]
    assert failed(replace(broken, duplicates_allowed=1)) == []


def test_validation_images_in_training(small_stream):
    validation = small_stream.split("T2_val").images
    index = validation.index.clone()
    index[0] = small_stream.phases[1].train.index[0]
    broken = with_split(small_stream, "T2_val", replace(validation, index=index))
    assert failed(broken) == ["training and evaluation share no image"]


@pytest.mark.parametrize("phase", [0, 1])
def test_a_validation_image_copied_from_training_under_another_identity(small_stream, phase):
    validation, train = small_stream.split("T2_val").images, small_stream.phases[phase].train
    images = validation.images.clone()
    row = int(validation.has_cue.nonzero()[0])
    images[row] = small_stream.cue.paint(train.images[:1], train.index[:1])[0]
    broken = with_split(small_stream, "T2_val", replace(validation, images=images))
    assert failed(broken) == ["training and evaluation share no image"]


def test_uneven_classes(small_stream):
    broken = with_split(small_stream, "T1_all", small_stream.split("T1_all").images.take(torch.arange(71)))
    assert failed(broken) == ["classes have equal weight, so the chance levels hold"]


def test_an_empty_split(small_stream):
    nothing = small_stream.split("T2_val").images.take(torch.arange(0))
    broken = with_split(small_stream, "T2_val", nothing)
    assert failed(broken) == ["labels belong to their phase", "classes have equal weight, so the chance levels hold"]


def test_frozen_augmentation(small_stream, monkeypatch):
    monkeypatch.setattr("einstellung.modalities.images.crop_and_flip", lambda images, *_: images)
    assert failed(small_stream) == ["augmentation changes every epoch and is reproducible"]


def test_a_failed_proof_names_its_reason(small_stream):
    train = small_stream.phases[1].train
    broken = with_train(small_stream, 1, replace(train, has_cue=torch.zeros_like(train.has_cue)))
    with pytest.raises(InputError, match=r"cue on 0 training images, should be 9.*nothing was trained"):
        prove(broken).require()


def test_chance_levels(small_stream):
    facts = prove(small_stream).facts
    assert facts["chance"] == pytest.approx(1 / 36)
    assert facts["chance_task"] == pytest.approx(1 / 12)
    assert facts["cue_alone"] == pytest.approx(1 / 6)
