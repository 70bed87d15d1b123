"""Labels, phases and chance levels of the two-phase protocol at both label levels."""

from __future__ import annotations

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.streams import prove
from einstellung.streams.two_phase import LabelledImages
from tests.streams.six_classes import CUE, build, noise


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
