"""Cues in series of numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from einstellung.cues import cues, cues_for
from einstellung.cues.series import GapCue, OffsetCue, SignatureCue, SpikeCue
from einstellung.errors import InputError
from einstellung.modalities import SERIES
from einstellung.options import checked_options
from tests.cues.sequences import SERIES_CUES

INDEX = torch.tensor([3, 14, 15, 92])
WAVES = torch.randn(4, 2, 1, 30, generator=torch.Generator().manual_seed(5))
by_name = pytest.mark.parametrize("cue", SERIES_CUES, ids=repr)


@by_name
def test_exactly_the_region_is_painted_in_every_channel(cue):
    region = cue.region(INDEX, 1, 30)
    for canvas in SERIES.canvases(WAVES):
        assert torch.equal(cue.paint(canvas, INDEX) != canvas, region.expand(-1, 2, -1, -1))
    painted = cue.paint(WAVES, INDEX)
    assert painted.dtype == torch.float32
    outside = ~region.expand_as(WAVES)
    assert torch.equal(painted[outside], WAVES[outside])


@by_name
def test_what_is_painted_belongs_to_the_series_not_to_the_batch(cue):
    before = WAVES.clone()
    alone = torch.cat([cue.paint(WAVES[row : row + 1], INDEX[row : row + 1]) for row in range(4)])
    assert torch.equal(alone, cue.paint(WAVES, INDEX))
    assert torch.equal(WAVES, before)


@by_name
def test_elsewhere_is_the_same_cue_at_another_place(cue):
    away = cue.elsewhere()
    assert away != cue
    assert away.elsewhere() == cue
    usual, moved = (one.region(INDEX, 1, 30) for one in (cue, away))
    assert int(usual.sum()) == int(moved.sum())
    if cue.place in ("start", "end"):
        assert not (usual & moved).any()
    flat = torch.zeros_like(WAVES) + 4  # what is added does not depend on the place
    sums = [(one.paint(flat, INDEX) - flat).flatten(1).sum(dim=1) for one in (cue, away)]
    assert torch.equal(*sums)


def test_the_shapes_of_cues():
    flat = np.zeros(12, dtype=np.float32)

    def shown(cue):
        return cue.paint(torch.from_numpy(flat).view(1, 1, 1, -1), torch.tensor([0])).flatten().tolist()

    assert shown(SpikeCue(size=1, place=3, height=-2.0)) == [0.0] * 3 + [-2.0] + [0.0] * 8
    assert shown(OffsetCue(size=4, place="end", height=0.5)) == [0.0] * 8 + [0.5] * 4
    assert shown(SignatureCue(size=6, period=4, height=1.0, place=2)) == [0, 0, 1, 1, -1, -1, 1, 1, 0, 0, 0, 0]
    gap = GapCue(size=3, place=1).paint(torch.ones(1, 1, 1, 6), torch.tensor([0]))
    assert gap.flatten().tolist() == [1, 0, 0, 0, 1, 1]


def test_the_other_cue_of_a_habit():
    assert (SpikeCue().other().height, SpikeCue().other().away) == (-3.0, True)
    assert OffsetCue().other().paint(WAVES, INDEX)[0, 0, 0, -1] == WAVES[0, 0, 0, -1] - 0.5
    assert SignatureCue().other().period == 8


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SpikeCue(height=0.0), r"cue\.height is 0\.0: give a finite number other than 0"),
        (lambda: OffsetCue(height=float("nan")), r"cue\.height is nan: give a finite number other than 0"),
        (lambda: SignatureCue(period=3), r"cue\.period is 3: give an even number of samples, at least 2"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("name", cues_for("series"))
def test_no_option_only_moves(name):
    assert "away" not in checked_options(cues[name], "cue", {})
    with pytest.raises(InputError, match=r"unknown key 'cue\.away'"):
        checked_options(cues[name], "cue", {"away": True})
