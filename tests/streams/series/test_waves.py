"""``waves``: series of wave forms, every cue and cover proved, and what breaks the proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from einstellung.cues import covers_for
from einstellung.cues.series import GapCue, OffsetCue, SignatureCue, SpikeCue
from einstellung.errors import InputError
from einstellung.streams import prove
from einstellung.streams.series.waves import NAMES, draw_waves
from einstellung.timeline import SC_MASK, SC_PATCH
from tests.streams.broken import failed, with_split, with_train
from tests.streams.sequences import series

PLACES = ("start", "end", "middle", 20, "per-index", "random")
CUES = [
    *(kind(place=place) for kind in (SpikeCue, OffsetCue, SignatureCue, GapCue) for place in PLACES),
    SpikeCue(size=1, height=-0.5),
    SpikeCue(habit="same"),
    SignatureCue(habit="other", share=0.8, share_nsc=0.2),
]


@pytest.fixture(scope="module")
def stream():
    return series(OffsetCue(share=0.8))


@pytest.mark.parametrize("cover", covers_for("series"))
@pytest.mark.parametrize("cue", CUES, ids=repr)
def test_every_cue_and_cover_is_proved(cue, cover):
    proof = prove(series(cue, cover))
    failing = {check.name for check in proof.checks if check.passed is not True}
    # a cue in the middle of the series may be too long to be displaced
    assert failing <= {"the displaced cue is present and clear of its usual place"}
    assert all(check.passed is not False for check in proof.checks)
    assert proof.facts["inputs"] == "series"
    assert not any("image" in f"{check.name} {check.detail}" for check in proof.checks)


def test_inputs_are_normalised_by_the_training_series(stream):
    used = torch.cat([phase.train.images for phase in stream.phases] + [stream.split("T2_val").images.images])
    clean = series(OffsetCue(share=0.0))
    everything = torch.cat([*(phase.train.images for phase in clean.phases), clean.split("T2_val").images.images])
    assert len(used) == len(everything)
    assert stream.mean == pytest.approx([float(everything.double().mean())])
    assert stream.std == pytest.approx([float(everything.double().std(correction=0))])


def test_broken_streams_fail(stream):
    train = stream.phases[1].train
    silent = replace(train, has_cue=torch.zeros_like(train.has_cue))
    assert "training shows the cue where configured" in failed(with_train(stream, 1, silent))
    masked, patched = stream.split(SC_MASK).images, stream.split(SC_PATCH).images
    more = masked.images.clone()
    more[0, 0, 0, 40] += 1e-3
    for images in (patched.images, more):
        assert failed(with_split(stream, SC_MASK, replace(masked, images=images))) == [
            "the mask covers exactly the cue, on the same series"
        ]
    weaker = replace(stream, cue=replace(stream.cue, height=0.4))
    assert failed(weaker)


def test_the_same_seed_draws_the_same_series_of_every_class():
    one, again, other = (draw_waves(3, 32, 0.1, seed, "train") for seed in (1, 1, 2))
    assert np.array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])
    assert (one[0].dtype, one[0].shape) == (np.float32, (36, 1, 32))
    assert np.bincount(one[1]).tolist() == [3] * 12


def test_a_wave_has_the_frequency_of_its_name():
    drawn, labels = draw_waves(20, 240, 0.0, 0, "train")
    for label, name in enumerate(NAMES):
        rows = drawn[labels == label, 0] - drawn[labels == label, 0].mean(axis=1, keepdims=True)
        strongest = np.abs(np.fft.rfft(rows * np.hanning(240)))[:, 2:].argmax(axis=1) + 2
        assert np.median(strongest) == int(name.rpartition(" ")[2]), name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 8}, r"stream\.length is 8: give a number of samples from 16 to 4096"),
        ({"noise": -1.0}, r"stream\.noise is -1\.0: it must not be negative"),
        ({"t2": ("square 9",)}, "stream.t2 names 'square 9'"),
        ({"validation": 0.01}, "holds out 0 of 10 training series of 'square 8'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        series(SpikeCue(), **options)


def test_a_cue_that_fills_the_series_cannot_be_interpolated():
    with pytest.raises(InputError, match="cover 'interpolate' needs samples outside the cue"):
        series(SpikeCue(size=64))
