"""The proof of composites: every check finds what was broken on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from einstellung.streams import prove
from einstellung.streams.composites.stream import stream_of
from tests.composites.small import few
from tests.streams.composites.conftest import COUNTS, PHASES, failed, with_split, with_train


def test_the_proof_holds(stream, composed):
    proof = prove(stream)
    assert proof.holds, [check for check in proof.checks if not check.passed]
    assert len(proof.checks) == 6
    shared = few(size=32, phases=PHASES, counts={**COUNTS, "train": 16}, shared=True)
    assert prove(stream_of(shared, shared=True, seed=0)).holds
    assert failed(stream_of(shared, shared=False, seed=0)) == {"no source is in two splits"}


def test_a_wrong_pixel_label_or_feature_is_found(stream):
    train = stream.phases[1].train
    pixels = train.images.clone()
    pixels[3, 1, 5, 5] ^= 1
    name = "every image matches its parts"
    assert failed(with_train(stream, 1, images=pixels)) == {name}
    assert name in failed(with_train(stream, 1, labels=1 - train.labels))
    assert name in failed(with_train(stream, 1, features=train.features ^ 4))


def test_a_wrong_correlation_is_found(stream, composed):
    asked = replace(composed, phases=((0.5, 0.5, 0.9), (0.5, 0.75, 0.5)))
    assert failed(stream_of(asked, shared=False, seed=0)) == {"every cue is correlated with the label as configured"}


def test_uneven_groups_are_found(stream):
    name = "validation and test are balanced"
    group = stream.split("group_1_100").images
    shorter = replace(
        stream,
        splits=tuple(
            replace(split, images=group.take(torch.arange(1))) if split.name == "group_1_100" else split
            for split in stream.splits
        ),
    )
    assert failed(shorter) == {name}
    exchanged = replace(
        stream,
        splits=tuple(replace(split, images=group) if split.name == "group_1_010" else split for split in stream.splits),
    )
    assert failed(exchanged) == {name}


def test_a_source_in_two_splits_or_used_twice_is_found(composed):
    train, *others, test = composed.plans
    leaking = replace(test, parts=replace(test.parts, targets=_like(test, train, composed)))
    assert failed(stream_of(replace(composed, plans=(train, *others, leaking)), False, 0)) == {
        "no source is in two splits"
    }
    twice = train.parts.targets.copy()
    same = np.flatnonzero(train.labels == train.labels[0])
    twice[same[1]] = twice[same[0]]
    doubled = replace(train, parts=replace(train.parts, targets=twice))
    assert failed(stream_of(replace(composed, plans=(doubled, *others, test)), False, 0)) == {
        "no target or background is used twice"
    }


def _like(test, train, composed):
    """The test's targets, the first of them exchanged for one of training with the same label."""
    targets = test.parts.targets.copy()
    targets[0] = train.parts.targets[train.labels == test.labels[0]][0]
    return targets


def test_twins_that_differ_elsewhere_or_not_at_all_are_found(stream, table):
    name = "twins differ only in their cue"
    before = stream.split("background_common").images
    assert failed(with_split(stream, "background_swapped", images=before.images)) == {name}
    assert failed(with_split(stream, "co-object_covered", features=before.features, images=before.images)) == {name}
    pixels = stream.split("background_swapped").images.images.clone()
    top, left, bottom, right = stream.target_boxes(before)[0].tolist()
    pixels[0, :, top:bottom, left:right] ^= 255
    assert failed(with_split(stream, "background_swapped", images=pixels)) == {name}

    class Idle:
        def swapped(self, images, draws):
            return images

    assert failed(replace(stream, interventions={**stream.interventions, "watermark": Idle()})) == {name}
