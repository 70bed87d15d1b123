"""Decoding of image files: upright, RGB, black below transparent pixels."""

from __future__ import annotations

import numpy as np
from PIL import Image

from einstellung.sources.pictures import read_pictures


def test_files_are_set_upright_and_made_rgb(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    pixels = np.zeros((8, 16, 3), dtype=np.uint8)
    pixels[:, :8] = (200, 0, 0)
    turned = Image.fromarray(pixels)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by 90 degrees clockwise: what is left in the file is at the top
    turned.save(tmp_path / "turned.png", exif=exif)
    Image.fromarray(pixels[:, :, 0]).save(tmp_path / "grey.png")
    clear = np.dstack([pixels, np.repeat(np.array([[255, 0]], dtype=np.uint8), 8, axis=0).repeat(8, axis=1)])
    Image.fromarray(clear).save(tmp_path / "clear.png")
    files = [tmp_path / name for name in ("turned.png", "grey.png", "clear.png")]
    found = read_pictures(files, 8, ["", "", ""])
    assert found.sizes.tolist() == [[16, 8], [8, 16], [8, 16]]
    turned_image, grey, transparent = found.images
    assert turned_image[0, :4].tolist() == [[200] * 8] * 4
    assert turned_image[0, 4:].max() == 0
    assert grey[:, :, :4].tolist() == [[[200] * 4] * 8] * 3
    assert transparent[0, :, :4].min() == 200
    assert transparent[:, :, 4:].max() == 0
