"""The patch: where it is, what it leaves alone, which images get it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.cues import PatchCue
from einstellung.errors import InputError

IMAGES = torch.randint(0, 200, (6, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
INDEX = torch.tensor([0, 1, 5, 77, 1000, 49_999])


@pytest.mark.parametrize(
    ("place", "row", "col"),
    [("top-left", 0, 0), ("top-right", 0, 28), ("bottom-left", 28, 0), ("bottom-right", 28, 28), ((3, 9), 3, 9)],
)
def test_a_fixed_place_is_exactly_there(place, row, col):
    expected = IMAGES.clone()
    expected[:, 0, row : row + 4, col : col + 4] = 255
    expected[:, 1, row : row + 4, col : col + 4] = 0
    expected[:, 2, row : row + 4, col : col + 4] = 255
    assert torch.equal(PatchCue(place=place).paint(IMAGES, INDEX), expected)


@pytest.mark.parametrize("place", ["top-left", "bottom-right", "per-index", "random", (10, 20)])
def test_region_is_what_paint_changes(place):
    cue = PatchCue(place=place, size=5)
    changed = (cue.paint(IMAGES, INDEX) != IMAGES).any(dim=1, keepdim=True)
    region = cue.region(INDEX, 32, 32)
    assert torch.equal(changed, region)
    assert region.flatten(1).sum(dim=1).tolist() == [25] * 6


def test_per_index_place_depends_on_the_image_alone():
    cue = PatchCue(place="per-index")
    together = cue.region(INDEX, 32, 32)
    for position, index in enumerate(INDEX):
        assert torch.equal(cue.region(index.view(1), 32, 32)[0], together[position])
    assert len({tuple(mask.nonzero()[0].tolist()) for mask in cue.region(torch.arange(200), 32, 32)}) > 150


def test_per_index_places_cover_the_image_evenly():
    corners = PatchCue(place="per-index", size=4).region(torch.arange(29 * 290), 32, 32)
    rows = corners[:, 0].any(dim=2).float().argmax(dim=1)
    counts = torch.bincount(rows, minlength=29).double()
    chi_square = ((counts - 290) ** 2 / 290).sum()
    assert chi_square < 56.9  # 99.9 % quantile of chi-square with 28 degrees of freedom


def test_random_place_is_new_with_a_generator_and_fixed_without():
    cue = PatchCue(place="random")
    draws = torch.Generator().manual_seed(1)
    one, other = cue.paint(IMAGES, INDEX, draws), cue.paint(IMAGES, INDEX, draws)
    assert not torch.equal(one, other)
    assert torch.equal(cue.paint(IMAGES, INDEX), cue.paint(IMAGES, INDEX))


def test_opacity_blends():
    image = torch.full((1, 3, 8, 8), 100, dtype=torch.uint8)
    painted = PatchCue(size=2, colour=(255, 0, 255), opacity=0.5).paint(image, torch.tensor([0]))
    assert painted[0, :, 0, 0].tolist() == [178, 50, 178]  # round half to even of 177.5


def test_painting_leaves_the_given_images_alone():
    before = IMAGES.clone()
    PatchCue().paint(IMAGES, INDEX)
    assert torch.equal(IMAGES, before)


@given(size=st.integers(1, 32), index=st.integers(0, 10**9))
def test_the_patch_always_fits(size, index):
    region = PatchCue(place="per-index", size=size).region(torch.tensor([index]), 32, 32)
    assert int(region.sum()) == size * size


@pytest.mark.parametrize(
    ("place", "row", "col"),
    [
        ("top-left", 28, 28),
        ("top-right", 28, 0),
        ("bottom-left", 0, 28),
        ("bottom-right", 0, 0),
        ((3, 9), 25, 19),  # through the centre: 28 - 3 and 28 - 9
        ((13, 5), 15, 23),  # the rows overlap, the columns do not
        ((13, 13), 28, 28),  # mirrored it would touch its own place; the far corner does not
        ((15, 20), 13, 8),
        ((15, 15), 0, 0),
    ],
)
def test_elsewhere_is_exactly_there(place, row, col):
    expected = IMAGES.clone()
    for channel, value in enumerate((255, 0, 255)):
        expected[:, channel, row : row + 4, col : col + 4] = value
    assert torch.equal(PatchCue(place=place).elsewhere().paint(IMAGES, INDEX), expected)


@given(
    size=st.integers(1, 12),
    place=st.one_of(
        st.sampled_from(["top-left", "top-right", "bottom-left", "bottom-right", "per-index", "random"]),
        st.tuples(st.integers(0, 11), st.integers(0, 11)),
    ),
    index=st.integers(0, 10**9),
)
def test_elsewhere_is_clear_of_its_own_place_wherever_there_is_room(size, place, index):
    height, width = 12, 15
    if isinstance(place, tuple):
        place = (min(place[0], height - size), min(place[1], width - size))
    cue, which = PatchCue(size=size, place=place), torch.tensor([index])
    own, other = cue.region(which, height, width), cue.elsewhere().region(which, height, width)
    assert int(other.sum()) == size * size
    room = any(
        not own[0, 0, row : row + size, col : col + size].any()
        for row in range(height - size + 1)
        for col in range(width - size + 1)
    )
    assert bool((own & other).any()) is not room


def test_elsewhere_is_the_same_cue_in_all_else():
    cue = PatchCue(size=5, colour=(1, 2, 3), place="per-index", opacity=0.5, share=0.2)
    moved = cue.elsewhere()
    assert (moved.size, moved.colour, moved.opacity, moved.share) == (5, (1, 2, 3), 0.5, 0.2)
    changed = (moved.paint(IMAGES, INDEX) != IMAGES).any(dim=1, keepdim=True)
    assert torch.equal(changed, moved.region(INDEX, 32, 32))
    for position, index in enumerate(INDEX):
        assert torch.equal(moved.region(index.view(1), 32, 32)[0], moved.region(INDEX, 32, 32)[position])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, "cue.size"),
        ({"colour": (1, 2)}, "cue.colour"),
        ({"colour": (0, 0, 256)}, "cue.colour"),
        ({"opacity": 0.0}, "cue.opacity"),
        ({"share": 1.5}, "cue.share"),
        ({"place": "top-lef"}, "did you mean 'top-left'"),
        ({"place": (1, -1)}, "cue.place"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        PatchCue(**options)


def test_a_patch_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="outside images of 32x32"):
        PatchCue(place=(30, 0)).paint(IMAGES, INDEX)
    with pytest.raises(InputError, match="does not fit"):
        PatchCue(size=33).region(INDEX, 32, 32)
