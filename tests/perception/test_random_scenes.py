"""Scenes without rules: their law, and that a scene depends on its number alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from einstellung.perception import random_scenes
from einstellung.perception.random_scenes import RandomSceneOptions, load_random_scenes
from einstellung.scenes.attributes import kind_numbers
from einstellung.scenes.scene import Scenes

OPTIONS = RandomSceneOptions("train", objects=4, size=64, seed=0, backend="torch")


@pytest.fixture
def _nothing_rendered(monkeypatch):
    def placed(codes, places, generators):
        assert places is None
        zeros = np.zeros((len(codes), 4, 3))
        return Scenes(codes, zeros[:, :, :2], zeros[:, :, 0], zeros[:, 0], zeros[:, :3])

    def rendered(scenes, size, backend):
        masks = np.tile(np.arange(4, dtype=np.uint8).reshape(2, 2) + 1, (len(scenes), 1, 1))
        return np.zeros((len(scenes), 2, 2, 3), np.uint8), masks

    monkeypatch.setattr(random_scenes, "place_scenes", placed)
    monkeypatch.setattr(random_scenes, "render", rendered)


@pytest.mark.usefixtures("_nothing_rendered")
def test_every_kind_has_the_same_chance_whatever_the_others_are():
    kinds = kind_numbers(random_scenes._render_chunk(range(5000), OPTIONS)["codes"])
    assert chisquare(np.bincount(kinds.ravel(), minlength=96)).pvalue > 0.001
    # a sphere (kinds 32 to 63) beside a blue object (every eighth kind from 2 on): independent
    sphere, blue = (kinds[:, 0] // 32 == 1), (kinds[:, 1] % 8 == 2)
    counts = [np.sum(sphere & blue), np.sum(sphere & ~blue), np.sum(~sphere & blue), np.sum(~sphere & ~blue)]
    assert chisquare(counts, 5000 * np.array([1 / 24, 7 / 24, 2 / 24, 14 / 24])).pvalue > 0.001


@pytest.mark.usefixtures("_nothing_rendered", "own_cache")
def test_splits_and_seeds_differ():
    def codes(split, seed):
        return load_random_scenes(split, 5, objects=4, size=64, seed=seed, backend="torch").codes

    assert torch.equal(codes("train", 0), codes("train", 0))
    assert not torch.equal(codes("train", 0), codes("test", 0))
    assert not torch.equal(codes("train", 0), codes("train", 1))


@pytest.mark.usefixtures("own_cache")
def test_a_rendered_scene_is_the_same_however_many_are_asked_for(monkeypatch):
    monkeypatch.setattr(random_scenes, "CHUNK_SIZE", 2)
    messages = []
    three = load_random_scenes("train", 3, objects=4, size=32, seed=0, log=messages.append)
    assert messages[-1] == "scenes without rules, train: 3 of 3 images"
    one = load_random_scenes("train", 1, objects=4, size=32, seed=0)
    assert three.images.shape == (3, 3, 32, 32)
    assert torch.equal(three.images[:1], one.images)
    assert torch.equal(three.codes[:1], one.codes)
    assert torch.equal(three.centres[:1], one.centres)
    assert three.masks.unique().tolist() == [0, 1, 2, 3, 4]
    assert torch.equal(three.take(torch.tensor([2, 0])).masks, three.masks[[2, 0]])
    assert three.images.float().std() > 5  # something is seen
    assert bool(((three.centres > 0) & (three.centres < 1)).all())
    monkeypatch.setattr(random_scenes, "_render_chunk", None)
    assert torch.equal(
        load_random_scenes("train", 3, objects=4, size=32, seed=0).images, three.images
    )  # from the cache


def test_centres_are_those_of_the_visible_pixels():
    masks = np.zeros((1, 4, 4), dtype=np.uint8)
    masks[0, 1:3, 0] = 1  # the left edge, rows 1 and 2
    masks[0, 3, 2:] = 2  # the bottom edge, columns 2 and 3
    assert random_scenes.centres_of(masks, 2).tolist() == [[[0.125, 0.5], [0.75, 0.875]]]
