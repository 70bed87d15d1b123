"""Covers of texts and series: what they write, and that they write it nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import cover, covers, covers_for
from einstellung.cues.covers import suits
from einstellung.cues.series import SpikeCue
from einstellung.cues.text import TokensCue
from einstellung.errors import InputError
from einstellung.modalities import FIRST_WORD, PADDING, UNKNOWN
from tests.cues.sequences import SERIES_CUES, TEXT_CUES

INDEX = torch.tensor([4, 8, 15, 16])
DRAWS = torch.Generator().manual_seed(3)
WAVES = torch.randn(4, 2, 1, 40, generator=DRAWS) * 3 + 5
TEXT = torch.randint(FIRST_WORD, FIRST_WORD + 7, (4, 1, 1, 40), dtype=torch.int32, generator=DRAWS)
TEXT[:, ..., :8] = TEXT[:, ..., -8:] = PADDING


def inputs_and_cues():
    for name in covers_for("series"):
        yield from ((name, WAVES, cue) for cue in SERIES_CUES)
    for name in covers_for("text"):
        yield from ((name, TEXT, cue) for cue in TEXT_CUES)


@pytest.mark.parametrize(("name", "inputs", "cue"), list(inputs_and_cues()), ids=lambda value: str(value)[:40])
def test_only_the_region_is_covered_once_and_whatever_the_batch(name, inputs, cue):
    painted, region = cue.paint(inputs, INDEX), cue.region(INDEX, 1, 40)
    covered = cover(name, painted, region, INDEX)
    outside = (~region).expand_as(painted)
    assert covered.dtype == painted.dtype
    assert torch.equal(covered[outside], painted[outside])
    assert torch.allclose(cover(name, covered, region, INDEX).float(), covered.float(), atol=1e-5)
    alone = [cover(name, painted[row : row + 1], region[row : row + 1], INDEX[row : row + 1]) for row in range(4)]
    assert torch.equal(torch.cat(alone), covered)


@pytest.mark.parametrize(("name", "inputs", "cue"), list(inputs_and_cues()), ids=lambda value: str(value)[:40])
def test_a_cover_does_not_see_what_it_covers(name, inputs, cue):
    region = cue.region(INDEX, 1, 40)
    if name == "neutral":  # it keeps padding, which the cue does not leave
        inputs = torch.where(inputs == PADDING, FIRST_WORD, inputs)
    one, other = (cover(name, shown, region, INDEX) for shown in (inputs, cue.paint(inputs, INDEX)))
    assert torch.equal(one, other)


@pytest.mark.parametrize("place", ["start", "end"])
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_removing_what_stood_beside_the_text_gives_back_the_text(place, size):
    cue = TokensCue(size=size, place=place)
    assert torch.equal(cover("remove", cue.paint(TEXT, INDEX), cue.region(INDEX, 1, 40), INDEX), TEXT)


def test_neutral_tokens_are_as_many_as_were_covered():
    cue = TokensCue(size=4, place="middle")
    covered = cover("neutral", cue.paint(TEXT, INDEX), cue.region(INDEX, 1, 40), INDEX)
    assert (covered == UNKNOWN).flatten(1).sum(dim=1).tolist() == [4] * 4
    clean = cover("neutral", TEXT, TokensCue(size=4).region(INDEX, 1, 40), INDEX)
    assert torch.equal(clean, TEXT)  # free places stay free


@given(region=st.lists(st.booleans(), min_size=3, max_size=20).filter(lambda one: not all(one)))
def test_interpolation_is_numpys(region):
    where = np.array(region)
    values = np.random.default_rng(len(region)).normal(size=(2, len(region))).astype(np.float32)
    covered = cover(
        "interpolate", torch.from_numpy(values)[None, :, None], torch.from_numpy(where).view(1, 1, 1, -1), INDEX[:1]
    )
    places = np.arange(len(where))
    expected = [np.interp(places, places[~where], channel[~where]) for channel in values]
    np.testing.assert_allclose(covered[0, :, 0].numpy(), expected, atol=1e-6)


def test_interpolation_by_hand():
    series = torch.tensor([9.0, 2.0, 9.0, 9.0, 8.0, 9.0]).view(1, 1, 1, -1)
    region = torch.tensor([True, False, True, True, False, True]).view(1, 1, 1, -1)
    assert cover("interpolate", series, region, INDEX[:1]).flatten().tolist() == [2, 2, 4, 6, 8, 8]
    with pytest.raises(InputError, match="needs samples outside the cue"):
        cover("interpolate", series, torch.ones_like(region), INDEX[:1])


def test_mean_is_that_of_each_channel_outside():
    cue = SpikeCue(size=6, place="middle", height=50.0)
    region = cue.region(INDEX, 1, 40)
    covered = cover("mean", cue.paint(WAVES, INDEX), region, INDEX)
    for row in range(4):
        for channel in range(2):
            expected = WAVES[row, channel][~region[row, 0]].double().mean()
            inside = covered[row, channel][region[row, 0]]
            assert torch.allclose(inside.double(), expected.expand(6), atol=1e-5)


def test_noise_has_the_mean_and_spread_of_the_rest():
    long = torch.randn(40, 2, 1, 400, generator=DRAWS) * torch.tensor([2.0, 0.5]).view(1, 2, 1, 1) + 7
    index = torch.arange(40)
    cue = SpikeCue(size=200, place="end", height=100.0)
    region = cue.region(index, 1, 400)
    covered = cover("noise", cue.paint(long, index), region, index)[..., 200:]
    rest = long[..., :200]
    for channel in range(2):
        found, expected = covered[:, channel], rest[:, channel]
        assert abs(float(found.mean() - expected.mean())) < 0.05
        assert abs(float(found.std() / expected.std()) - 1) < 0.05
    assert covered.unique().numel() > 15_000  # every place its own draw
    assert torch.equal(cover("noise", long, region, index)[7], cover("noise", long[7:8], region[7:8], index[7:8])[0])


def test_covers_say_what_they_are_for(own_names):
    @covers.register("hush")
    @suits("series")
    def hush(series, region, index):
        return torch.zeros_like(series)

    assert "hush" in covers_for("series")
    assert "hush" not in covers_for("image")
    assert covers_for("text") == ["neutral", "remove"]
    assert {"black", "blur", "inpaint", "from-audit", "mean", "noise"} == set(covers_for("image"))
