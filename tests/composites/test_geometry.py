"""The published recipe, on cut-outs whose place can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.composites.geometry import OBJECT_PLACEMENT, TARGET_PLACEMENT, backdrop, check_size, cut_out
from einstellung.errors import InputError


def rectangle(height, width, alpha=255, margin=3):
    picture = np.zeros((height + 2 * margin, width + 2 * margin, 4), dtype=np.uint8)
    picture[margin : margin + height, margin : margin + width] = (200, 100, 50, alpha)
    return picture


@pytest.mark.parametrize("size", [64, 128, 224, 256])
def test_the_shares_of_the_canvas_are_the_published_ones(size):
    target, thing = TARGET_PLACEMENT.window(size), OBJECT_PLACEMENT.window(size)
    assert (target.top, target.left, target.height) == (size // 4, size // 4, size // 2)
    assert (thing.top, thing.left, thing.height) == (3 * size // 8, 3 * size // 4, size // 4)


@pytest.mark.parametrize("size", [17, 63, 65, 99])
def test_odd_canvasses_hold_everything_within_a_pixel_of_its_place(size):
    for place in (TARGET_PLACEMENT, OBJECT_PLACEMENT):
        window = place.window(size)
        assert window.top >= 0
        assert window.left >= 0
        assert window.left + window.width <= size
        assert abs(window.top + window.height / 2 - place.row * size) <= 1
        assert abs(window.left + window.width / 2 - place.col * size) <= 1
        assert abs(window.height - place.scale * size) <= 0.5


def test_a_cut_out_is_cropped_scaled_by_its_longer_side_and_centred():
    square = cut_out(rectangle(20, 10), 32, "it")
    inside = square[3] == 255
    rows, cols = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    assert (rows[0], rows[-1]) == (0, 31)
    assert (cols[0], cols[-1]) == (8, 23)  # 16 wide, 8 left on either side
    assert (square[:3, inside].T == (200, 100, 50)).all()
    assert (square[:, ~inside] == 0).all()


def test_masks_are_hard_at_an_alpha_of_128():
    assert (cut_out(rectangle(8, 8, alpha=128), 8, "it")[3] == 255).all()
    with pytest.raises(InputError, match="it: it has no opaque pixel"):
        cut_out(rectangle(8, 8, alpha=127), 8, "it")
    faint = rectangle(8, 8)
    faint[:3, :, 3] = 127  # a faint rim does not belong to it
    faint[:3, :, :3] = 255
    assert np.array_equal(cut_out(faint, 8, "it"), cut_out(rectangle(8, 8), 8, "it"))


def test_what_vanishes_at_a_size_is_named():
    comb = np.zeros((60, 60, 4), dtype=np.uint8)
    comb[0, 0] = comb[59, 59] = 255
    with pytest.raises(InputError, match="comb: it is too thin"):
        cut_out(comb, 4, "comb")


def test_a_background_is_its_middle():
    picture = np.zeros((8, 16, 3), dtype=np.uint8)
    picture[:, 4:12] = 255
    assert (backdrop(picture, 8) == 255).all()
    assert backdrop(picture, 4).shape == (3, 4, 4)


def test_a_canvas_may_not_be_too_small():
    with pytest.raises(InputError, match="size is 8: give 16 to 1024 pixels"):
        check_size(8)
