"""Boxes of a cue that is part of the original images, at another size."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.sources.geometry import scaled_box
from einstellung.sources.pictures import read_pictures
from einstellung.streams.boxed import MarkedCue


@pytest.mark.parametrize(
    ("box", "size", "expected"),
    [
        ((0, 0, 10, 10), 5, (0, 0, 5, 5)),
        ((3, 0, 1, 1), 5, (1, 0, 1, 1)),
        ((1, 1, 2, 2), 5, (0, 0, 2, 2)),
        ((9, 9, 1, 1), 20, (18, 18, 2, 2)),
    ],
)
def test_a_box_at_another_size_holds_every_pixel_that_it_touched(box, size, expected):
    assert scaled_box(box, 10, 10, size, size) == expected


def test_no_pixel_outside_a_scaled_box_knows_what_is_in_it(tmp_path, monkeypatch):
    """Two pictures that differ inside a box only are equal outside the scaled box, whatever the sizes."""
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    draws = np.random.default_rng(0)
    for case in range(12):
        height, width, size = (int(value) for value in draws.integers(9, 60, 3))
        top, left = int(draws.integers(0, height - 3)), int(draws.integers(0, width - 3))
        box = (top, left, int(draws.integers(1, height - top)), int(draws.integers(1, width - left)))
        files = []
        for shade in (0, 255):
            pixels = np.full((height, width, 3), 120, dtype=np.uint8)
            pixels[top : top + box[2], left : left + box[3]] = shade
            files.append(tmp_path / f"{case}-{shade}.png")
            Image.fromarray(pixels).save(files[-1])
        one, other = read_pictures(files, size, ["", ""]).images
        row, col, high, wide = scaled_box(box, height, width, size, size)
        differs = (one != other).any(axis=0)
        differs[row : row + high, col : col + wide] = False
        assert not differs.any()


def test_a_marked_cue_is_where_its_inputs_have_it():
    where = torch.tensor([[[True, False]], [[False, False]]])
    cue = MarkedCue(torch.tensor([5, 3]), where, "header lines")
    assert cue.region(torch.tensor([3, 5, 5]), 1, 2).int().flatten().tolist() == [0, 0, 1, 0, 1, 0]
    assert cue.has(torch.tensor([3, 5])).tolist() == [False, True]
    assert cue.elsewhere() is cue
    assert repr(cue) == "part of the inputs: header lines; nothing is painted"
    inputs = torch.tensor([[[[7, 8]]]])
    painted = cue.paint(inputs, torch.tensor([5]))
    assert torch.equal(painted, inputs)
    assert painted is not inputs
