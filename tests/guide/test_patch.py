"""The guide's patch injector: every kind of image, the same place as the cue of a study."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.guide import MagentaPatchInjector

PICTURE = np.random.default_rng(0).integers(0, 200, (24, 32, 3), dtype=np.uint8)


def test_all_kinds_get_the_same_pixels_and_stay_what_they_are():
    injector = MagentaPatchInjector()
    before = PICTURE.copy()
    array = injector.apply_patch(PICTURE, 11)
    tensor = injector.apply_patch(torch.from_numpy(PICTURE.copy()).permute(2, 0, 1), 11)
    picture = injector.apply_patch(Image.fromarray(PICTURE), 11)
    assert isinstance(picture, Image.Image)
    assert picture.mode == "RGB"
    assert np.array_equal(array, np.asarray(picture))
    assert np.array_equal(array, tensor.permute(1, 2, 0).numpy())
    assert (array.dtype, tensor.dtype, array.flags.c_contiguous) == (np.uint8, torch.uint8, True)
    assert np.array_equal(PICTURE, before)


def test_exactly_the_patch_changes_where_the_cue_of_a_study_is():
    painted = MagentaPatchInjector(patch_size=3, patch_color=(1, 2, 3)).apply_patch(PICTURE, 5)
    region = PatchCue(size=3, place="per-index").region(torch.tensor([5]), 24, 32)[0, 0].numpy()
    assert region.sum() == 9
    assert (painted[region] == [1, 2, 3]).all()
    assert np.array_equal(painted[~region], PICTURE[~region])


def test_the_index_decides_the_place_always_the_same_way():
    injector = MagentaPatchInjector()
    first = [injector.apply_patch(PICTURE, index).tobytes() for index in range(30)]
    assert first == [MagentaPatchInjector().apply_patch(PICTURE, index).tobytes() for index in range(30)]
    assert len(set(first)) > 25


@pytest.mark.parametrize(
    ("image", "index", "message"),
    [
        (torch.zeros(3, 8, 8), 0, "painted before normalisation"),
        (torch.zeros(8, 8, 3, dtype=torch.uint8), 0, r"uint8 \[3, H, W\]"),
        (np.zeros((8, 8, 3)), 0, r"give uint8 \[H, W, 3\]"),
        (np.zeros((8, 8), dtype=np.uint8), 0, r"give uint8 \[H, W, 3\]"),
        (Image.new("L", (8, 8)), 0, "mode L"),
        ("cat.png", 0, "a str was given"),
        (PICTURE, -1, "the index is -1"),
        (PICTURE, 0.5, "the index is 0.5"),
        (np.zeros((2, 8, 3), dtype=np.uint8), 0, "does not fit"),
    ],
)
def test_what_cannot_be_painted_is_refused(image, index, message):
    with pytest.raises(InputError, match=message):
        MagentaPatchInjector().apply_patch(image, index)


def test_a_patch_that_is_none_is_refused():
    with pytest.raises(InputError, match="at least 1 pixel"):
        MagentaPatchInjector(patch_size=0)
    with pytest.raises(InputError, match="three numbers from 0 to 255"):
        MagentaPatchInjector(patch_color=(256, 0, 0))
