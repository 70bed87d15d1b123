"""Covers change the region and nothing else, the same way every time."""

from __future__ import annotations

import pytest
import torch

from einstellung.cues import PatchCue, cover, covers_for
from einstellung.errors import InputError

IMAGES = torch.randint(0, 256, (4, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
INDEX = torch.tensor([4, 8, 15, 16])
CUE = PatchCue(size=3, place="per-index")
REGION = CUE.region(INDEX, 16, 16)


@pytest.mark.parametrize("name", covers_for("image"))
def test_outside_the_region_nothing_changes_and_repeating_gives_the_same(name):
    painted = CUE.paint(IMAGES, INDEX)
    covered = cover(name, painted, REGION, INDEX)
    outside = (~REGION).expand_as(painted)
    assert torch.equal(covered[outside], painted[outside])
    assert torch.equal(covered, cover(name, painted, REGION, INDEX))
    assert (covered != painted)[REGION.expand_as(painted)].any()


def test_black_is_black():
    assert int(cover("black", IMAGES, REGION, INDEX)[REGION.expand_as(IMAGES)].sum()) == 0


def test_mean_is_the_mean_of_what_is_left():
    covered = cover("mean", IMAGES, REGION, INDEX)
    outside = IMAGES[0, 1][~REGION[0, 0]].double().mean().round()
    inside = covered[0, 1][REGION[0, 0]]
    assert inside.unique().tolist() == [int(outside)]


def test_inpainting_a_flat_image_restores_it():
    flat = torch.full((4, 3, 16, 16), 93, dtype=torch.uint8)
    assert torch.equal(cover("inpaint", CUE.paint(flat, INDEX), REGION, INDEX), flat)


def test_inpainting_does_not_see_what_it_covers():
    magenta, green = PatchCue(size=3, place="per-index"), PatchCue(size=3, place="per-index", colour=(0, 255, 0))
    one = cover("inpaint", magenta.paint(IMAGES, INDEX), REGION, INDEX)
    other = cover("inpaint", green.paint(IMAGES, INDEX), REGION, INDEX)
    assert torch.equal(one, other)


def test_noise_belongs_to_the_image_not_to_the_batch():
    alone = cover("noise", IMAGES[2:3], REGION[2:3], INDEX[2:3])
    assert torch.equal(alone[0], cover("noise", IMAGES, REGION, INDEX)[2])


def test_unknown_cover_is_named():
    with pytest.raises(InputError, match="did you mean 'black'"):
        cover("blak", IMAGES, REGION, INDEX)
