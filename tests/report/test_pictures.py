"""Pictures in the page: pixel for pixel, the same columns in every row."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from einstellung.errors import InputError
from einstellung.report.pictures import PictureRow, png_uri, read_samples, strip

IMAGES = np.random.default_rng(0).integers(0, 255, (9, 4, 4, 3), dtype=np.uint8)


def pixels(address: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


def test_a_picture_comes_back_pixel_for_pixel():
    assert (pixels(png_uri(IMAGES[3])) == IMAGES[3]).all()


def test_a_strip_shows_the_same_scenes_in_every_row():
    rows = strip([PictureRow("one", IMAGES), PictureRow("other", IMAGES[..., ::-1])], most=3)
    assert [label for label, _ in rows] == ["one", "other"]
    for place, image in enumerate((0, 4, 8)):
        assert (pixels(rows[0][1][place]) == IMAGES[image]).all()
        assert (pixels(rows[1][1][place]) == IMAGES[image][..., ::-1]).all()


def test_a_file_that_holds_no_samples_is_refused(tmp_path):
    (tmp_path / "samples.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="is damaged: it is not a complete"):
        read_samples(tmp_path / "samples.npz")
