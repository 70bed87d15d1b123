"""Strong views: parts of an image, and colours, against colorsys and by property."""

from __future__ import annotations

import colorsys

import pytest
import torch

from einstellung.learners.strong_views import cropped, recoloured, turned


def test_hue_is_turned_as_colorsys_does():
    draws = torch.Generator().manual_seed(0)
    pixels = torch.rand(50, 3, 1, 1, generator=draws)
    for turn in (-0.1, 0.0, 0.07):
        ours = turned(pixels, torch.tensor(turn)).flatten(1).tolist()
        for pixel, result in zip(pixels.flatten(1).tolist(), ours, strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
            assert result == pytest.approx(colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value), abs=1e-5)


def test_a_crop_shows_a_part_of_the_image_at_least_a_fifth():
    """On an image whose red is its row and whose green is its column, the range of values is the part that is seen."""
    side = 40
    ramp = (torch.arange(side) * 6).to(torch.uint8)
    image = torch.stack(
        (ramp[:, None].expand(side, side), ramp[None].expand(side, side), torch.zeros(side, side).byte())
    )
    parts = cropped(image.expand(300, -1, -1, -1), True, torch.Generator().manual_seed(0)).float()
    rows, columns = (parts[:, channel].flatten(1) for channel in (0, 1))
    height, width = ((part.amax(1) - part.amin(1)) / (6 * side) for part in (rows, columns))
    assert 0.15 < float((height * width).min()) < 0.3
    assert float((height * width).max()) > 0.8
    mirrored = parts[:, 1, 0, 0] > parts[:, 1, 0, -1]
    assert 100 < int(mirrored.sum()) < 200
    upright = cropped(image.expand(50, -1, -1, -1), False, torch.Generator().manual_seed(0)).float()
    assert bool((upright[:, 1, 0, 0] < upright[:, 1, 0, -1]).all())


def test_a_fifth_stays_as_it_is_but_for_grey_and_colours_stay_in_range():
    draws = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (400, 3, 4, 4), generator=draws).to(torch.uint8)
    views = recoloured(pixels, torch.Generator().manual_seed(1))
    assert float(views.min()) >= 0
    assert float(views.max()) <= 255.001
    same = (views - pixels).abs().flatten(1).amax(1) < 1e-3
    grey = (views[:, 0] - views[:, 2]).abs().flatten(1).amax(1) < 1e-3
    assert 40 < int(same.sum()) < 90  # a fifth of four fifths: 64
    assert 55 < int(grey.sum()) < 105  # a fifth: 80
    again = recoloured(pixels, torch.Generator().manual_seed(1))
    assert torch.equal(views, again)
