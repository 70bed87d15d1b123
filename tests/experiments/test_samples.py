"""The images that a study keeps: those of the gallery have the index under which predictions name them."""

from __future__ import annotations

import io

import numpy as np

from einstellung.experiments.assembly import build_stream
from einstellung.experiments.samples import stream_samples
from einstellung.results.config import build_config
from einstellung.timeline import SC_MASK, SC_PATCH

SHAPES = {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 4}


def test_the_gallery_is_the_test_images_by_their_index():
    stream = build_stream(build_config({"stream": SHAPES}))
    with np.load(io.BytesIO(stream_samples(stream)), allow_pickle=False) as stored:
        arrays = dict(stored)
    assert len(arrays["patched"]) == 8
    index = arrays["gallery_index"]
    assert len(index) == len(arrays["gallery_patched"]) == len(arrays["gallery_masked"]) > 8
    for split, name in ((SC_PATCH, "gallery_patched"), (SC_MASK, "gallery_masked")):
        images = stream.split(split).images
        by_index = {int(one): place for place, one in enumerate(images.index)}
        for place, one in enumerate(index):
            own = images.images[by_index[int(one)]].permute(1, 2, 0).numpy()
            assert (arrays[name][place] == own).all()
            assert arrays["gallery_labels"][place] == int(images.labels[by_index[int(one)]])
    assert list(arrays["class_names"]) == list(stream.class_names)


def test_large_images_are_fewer():
    large = build_stream(build_config({"stream": {**SHAPES, "size": 64}}))
    with np.load(io.BytesIO(stream_samples(large)), allow_pickle=False) as stored:
        assert len(stored["gallery_index"]) == 12
