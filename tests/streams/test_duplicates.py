"""Known duplicates are counted or dropped; unknown ones fail the proof."""

from __future__ import annotations

from einstellung.cues import PatchCue
from einstellung.streams import prove
from einstellung.streams.duplicates import Duplicates
from tests.streams.six_classes import CUE, build, noise


class WithDuplicates:
    """Three pairs of doubled, put in by hand: T1 and test, T2's two phases' training, T2's training and validation."""

    def __init__(self) -> None:
        self.train, self.test = noise(10, 0), noise(4, 1)
        plain = build(self.train, self.test, CUE)
        self.t1_row = int(plain.phases[0].train.index[3])
        t2_rows = plain.phases[1].train.index
        has_cue = plain.phases[1].train.has_cue
        self.t2_row, self.t2_other = int(t2_rows[has_cue][2]), int(t2_rows[~has_cue][1])
        self.val_row = int(plain.split("T2_val").images.index[0])
        self.test_row = int(plain.split("T1_all").images.index[1])
        self.test.images[self.test_row] = self.train.images[self.t1_row]
        self.train.images[self.t2_row] = self.train.images[self.t1_row]
        self.train.images[self.val_row] = self.train.images[self.t2_other]
        self.pairs = (
            ((self.t1_row, self.t2_row), (self.val_row, self.t2_other)),
            ((self.t1_row, self.test_row),),
        )


def test_known_duplicates_are_reported():
    doubled = WithDuplicates()
    stream = build(doubled.train, doubled.test, CUE, Duplicates(*doubled.pairs))
    assert (stream.duplicates_allowed, stream.phase_duplicates_allowed, stream.left_out) == (2, 1, 0)
    assert stream.facts["duplicates"] == (
        "evaluation images that are also training images, pixel for pixel: 2 (1 in T1_all, 1 in T2_val), evaluated like the "
        "others; training images of T2 that are also in T1: 1, trained on in both"
    )
    prove(stream).require()


def test_known_duplicates_are_left_out():
    doubled = WithDuplicates()
    stream = build(
        doubled.train, doubled.test, PatchCue(size=2, share=0.5), Duplicates(*doubled.pairs, handling="drop")
    )
    assert (stream.duplicates_allowed, stream.phase_duplicates_allowed, stream.left_out) == (0, 0, 2)
    assert doubled.test_row not in stream.split("T1_all").images.index
    assert doubled.val_row not in stream.split("T2_val").images.index
    assert doubled.t2_row not in stream.phases[1].train.index
    assert doubled.t1_row in stream.phases[0].train.index
    assert doubled.t2_other in stream.phases[1].train.index
    assert stream.facts["duplicates"].endswith("removed; training images of T2 that are also in T1: 1, removed from T2")
    prove(stream).require()


def test_unknown_duplicates_stop_the_proof():
    doubled = WithDuplicates()
    failed = [check.name for check in prove(build(doubled.train, doubled.test, CUE)).checks if not check.passed]
    assert failed == ["phases share no image", "training and evaluation share no image"]
