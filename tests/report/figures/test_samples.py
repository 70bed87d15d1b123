"""Sample images: every pixel a square, grey by luminance."""

from __future__ import annotations

import numpy as np
from matplotlib.text import Text

from einstellung.report.figures.canvas import drawing
from einstellung.report.figures.samples import draw_samples, in_grey
from einstellung.report.pictures import read_samples
from tests.diagnoses.rigidity.hand_made import write_samples


def test_samples_are_drawn_pixel_by_pixel(tmp_path):
    stored = read_samples(write_samples(tmp_path / "samples.npz"))
    with drawing():
        figure = draw_samples(stored, ("original", "patched", "masked"), ["a_$b$"] * 8)
    images = [axes.images[0].get_array() for axes in figure.axes]
    assert len(images) == 24
    assert images[0].shape == (128, 128, 3)
    patch = images[8][:32, :32]  # 2 of 8 pixels, each 16 times as large
    assert (np.asarray(patch) == (255, 0, 255)).all()
    assert not (np.asarray(images[8][32, 32]) == (255, 0, 255)).all()
    assert "a_$b$" in [text.get_text() for text in figure.findobj(Text)]


def test_grey_is_the_luminance_of_itu_601():
    colours = np.array(
        [[[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255], [255, 255, 255], [10, 200, 30]]]], np.uint8
    )
    grey = in_grey({"patched": colours, "captions": np.array(["a"])})
    assert list(grey) == ["patched"]
    assert grey["patched"].shape == colours.shape
    by_hand = [76, 150, 29, 105, 255, round(0.299 * 10 + 0.587 * 200 + 0.114 * 30)]
    assert grey["patched"][0, 0, :, 0].tolist() == by_hand
    assert (grey["patched"] == grey["patched"][..., :1]).all()
