"""The datasets of ConCon's tasks: tables, features, twins, and folders."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from einstellung.errors import InputError
from einstellung.scenes.tables import table_to_attributes
from einstellung.streams import prove
from einstellung.streams.concon import concon
from tests.streams.concon.conftest import FEW, strict_datasets

BLUE, METAL, LARGE = 1, 2, 4


def test_what_is_known_of_a_scene_is_in_its_table_and_its_features(tables):
    """Blue, metal and large by their columns: 1 present, 3 shapes, 2 sizes, 2 materials, 8 colours."""
    for phase, own in zip(tables.phases, (BLUE, METAL, LARGE), strict=True):
        table = phase.train.images[:, 0].numpy()
        assert table.shape[1:] == (4, 16)
        large, metal, blue = (table[:, :, column].any(axis=1) for column in (5, 7, 10))
        assert phase.train.features.tolist() == (BLUE * blue + METAL * metal + LARGE * large).tolist()
        held = (phase.train.features & own) > 0
        assert torch.equal(held, phase.train.labels == 1)  # the confounder goes with the label


def test_twins_are_the_same_tables_but_for_the_confounder(tables):
    columns = {"T1": slice(8, 16), "T2": slice(6, 8), "T3": slice(4, 6)}
    for name, changed in columns.items():
        for word, insert in (("positive", False), ("negative", True)):
            before, after = (tables.split(f"{name}_{word}_{which}").images for which in ("paired", "twin"))
            assert torch.equal(before.index, after.index)
            assert torch.equal(before.labels, after.labels)
            rest = torch.ones(16, dtype=torch.bool)
            rest[changed] = False
            assert torch.equal(before.images[..., rest], after.images[..., rest])
            bit = {"T1": BLUE, "T2": METAL, "T3": LARGE}[name]
            assert ((after.features & bit) > 0).all() == insert
            assert torch.equal(after.features & ~bit, before.features & ~bit)


def test_twins_of_pictures_that_are_averaged_down_are_averaged_down_too(pictures, tmp_path, monkeypatch):
    """Rendered in the smaller size they would differ from their originals at every edge."""
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    folder, _, whole = pictures
    smaller = concon(path=str(folder), size=16, train=3, val=2, test=4)
    for name in ("T1_positive_twin", "T1_negative_twin", "T2_positive_twin", "T3_negative_twin"):
        large = whole.split(name).images.images.permute(0, 2, 3, 1).numpy()
        averages = np.stack([np.asarray(Image.fromarray(one).resize((16, 16), Image.Resampling.BOX)) for one in large])
        assert np.array_equal(smaller.split(name).images.images.permute(0, 2, 3, 1).numpy(), averages)
    assert prove(smaller).holds


def test_a_confounder_that_cannot_be_taken_away_leaves_the_study_without_these_twins(tmp_path):
    (tmp_path / "blue.yaml").write_text(
        "ground_truth: [{shape: sphere, color: blue}]\nconfounders: [[{color: blue}], [{material: metal}]]\n"
    )
    stream = concon(input_modality="attributes", rules=str(tmp_path / "blue.yaml"), **FEW)
    names = {split.name for split in stream.splits}
    assert "T1_positive_twin" not in names
    assert {"T1_negative_twin", "T2_positive_twin", "T2_negative_twin"} <= names
    proof = prove(stream)
    assert proof.holds, proof
    (twins,) = (check for check in proof.checks if "twin" in check.name)
    assert "T1_positive none of 20" in twins.detail


def test_of_a_folder_it_takes_what_the_configuration_says_and_nothing_else(pictures, tmp_path, monkeypatch):
    """The first images of each class, averaged down; more, or larger ones, than there are cannot be had."""
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    folder, _, whole = pictures
    few = {"path": str(folder), "size": 32, "train": 2, "val": 1, "test": 3}
    stream = concon(**few)
    for own, all_of_them in zip(stream.phases, whole.phases, strict=True):
        firsts = [(all_of_them.train.labels == label).nonzero().flatten()[:2] for label in (1, 0)]
        assert torch.equal(own.train.images, all_of_them.train.images[torch.cat(firsts).sort().values])
    assert {len(split.images) for split in stream.splits if split.name.endswith("_val")} == {2}
    assert len(stream.split("unconfounded_positive").images) == 3
    for change, words in (
        ({"train": 4}, r"the train images of 'strict' in t0: only 3 per class, but stream\.train is 4: give at most 3"),
        ({"test": 5}, r"stream\.test is 5: give at most 4"),
        ({"size": 64}, "is 32 pixels wide: cannot be averaged down to 64, give at most 32"),
    ):
        with pytest.raises(InputError, match=words):
            concon(**{**few, **change})
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("scenes.jsonl", "made.json", "masks"))
    smaller = concon(**{**few, "path": str(bare), "size": 16})
    assert smaller.phases[0].train.images.shape[-2:] == (16, 16)


def test_tables_and_attributes_are_the_same_scenes(tables):
    """The neuro-symbolic net is shown the very scenes that the other one sees pictures of."""
    scenes = strict_datasets().split("strict", "train", 0).scenes
    table = tables.phases[0].train.images[:, 0].numpy()
    assert np.array_equal(table_to_attributes(table), scenes.attributes)
