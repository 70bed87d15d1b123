"""Boxes of a prepared picture, back in the pixels of its file: followed through real resizing and cropping."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image

from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.sources.geometry import Geometry


def coordinates(height: int, width: int) -> Image.Image:
    """A picture whose red is the row and whose green is the column of each pixel."""
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[..., 0], pixels[..., 1] = np.arange(height)[:, None], np.arange(width)[None]
    return Image.fromarray(pixels)


@settings(max_examples=60, deadline=None)
@given(data=some.data(), squash=some.booleans())
def test_a_stored_box_holds_what_the_prepared_box_shows_and_hardly_more(data, squash):
    height, width = (data.draw(some.integers(20, 250), label=side) for side in ("height", "width"))
    size = data.draw(some.integers(8, 40), label="size")
    resize = size + data.draw(some.integers(0, 8), label="border")
    top, left = (data.draw(some.integers(0, size - 2)) for _ in range(2))
    tall, wide = data.draw(some.integers(1, size - top)), data.draw(some.integers(1, size - left))
    how = Preprocessing(size, resize, (0, 0, 0), (1, 1, 1), "nearest", squash)
    assert how.geometry == Geometry(size, resize, squash)
    shown = how.prepare(coordinates(height, width)).numpy()[:, top : top + tall, left : left + wide]
    box = how.geometry.stored_box((top, left, tall, wide), height, width)
    resized = how.geometry.resized(height, width)
    for channel, first, length, side, scaled in ((0, 0, 2, height, resized[0]), (1, 1, 3, width, resized[1])):
        start, end = box[first], box[first] + box[length]
        assert 0 <= start < end <= side
        assert start <= shown[channel].min()
        assert shown[channel].max() < end
        step = side / scaled  # stored pixels per prepared pixel
        assert shown[channel].min() - start <= step + 1
        assert end - 1 - shown[channel].max() <= step + 1


def test_a_box_of_a_cropped_photograph():
    """By hand: 640 x 480 is resized to 341 x 256 and cropped to 224 x 224, from row 58 and column 16."""
    geometry = Geometry(224, 256)
    assert geometry.resized(640, 480) == (341, 256)
    assert geometry.stored_box((10, 20, 30, 40), 640, 480) == (127, 67, 57, 76)


def test_without_a_crop_the_whole_picture_is_the_whole_picture():
    assert Geometry(32, 32, squash=True).stored_box((0, 0, 32, 32), 90, 50) == (0, 0, 90, 50)
    assert Geometry(32, 32, squash=True).whole
    assert not Geometry(32, 32).whole  # the longer side is cut
