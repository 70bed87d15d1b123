"""Resizing, cropping and wrong settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.classifiers.preprocessing import Preprocessing, preprocessing_from
from einstellung.errors import InputError


def test_preparing_resizes_the_shorter_side_and_takes_the_middle():
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8))
    got = Preprocessing(20, 30, (0, 0, 0), (1, 1, 1), "bicubic").prepare(picture)
    whole = np.asarray(picture.resize((50, 30), Image.Resampling.BICUBIC))
    assert got.dtype == torch.uint8
    assert np.array_equal(got.numpy().transpose(1, 2, 0), whole[5:25, 15:35])


def test_squashing_resizes_both_sides_and_takes_the_middle():
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8))
    squashing = Preprocessing(20, 30, (0, 0, 0), (1, 1, 1), squash=True)
    whole = np.asarray(picture.resize((30, 30), Image.Resampling.BICUBIC))
    assert np.array_equal(squashing.prepare(picture).numpy().transpose(1, 2, 0), whole[5:25, 5:25])
    assert squashing.facts() != Preprocessing(20, 30, (0, 0, 0), (1, 1, 1)).facts()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 8, "mean": [0] * 3, "std": [1] * 3, "squash": "yes"}, "squash is 'yes': give True or False"),
        ({"size": 8, "mean": [0] * 3}, "lacks 'std'"),
        ({"size": 8, "mean": [0] * 2, "std": [1] * 3}, "three numbers"),
        ({"size": 8, "mean": [0] * 3, "std": [1, 1, 0]}, "std above 0"),
        ({"size": 8, "resize": 4, "mean": [0] * 3, "std": [1] * 3}, "size <= resize"),
        ({"size": 8, "mean": [0] * 3, "std": [1] * 3, "interpolation": "magic"}, "give one of nearest, bilinear"),
    ],
)
def test_wrong_preprocessing_is_said(settings, message):
    with pytest.raises(InputError, match=message):
        preprocessing_from(settings, "mine")
