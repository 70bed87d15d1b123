"""Which pictures are trained and tested on, and how versions are matched."""

from __future__ import annotations

import pytest

from einstellung.errors import InputError
from einstellung.probes.last_layer.data import read_data
from tests.classifiers.tiny import grey


def test_classes_are_the_nets_own_where_pictures_are_numbered(tmp_path):
    grey(tmp_path / "train/3.png", 0.7)
    grey(tmp_path / "test/0.png", 0.6)
    found = read_data(tmp_path / "train", tmp_path / "test", {}, {}, 5)
    assert (found.own, found.classes, found.test.labels.tolist()) == (True, 5, [0])
    for place, level in (("b/train/dark/1.png", 0.1), ("b/train/light/1.png", 0.9), ("b/test/light/1.png", 0.8)):
        grey(tmp_path / place, level)
    folders = read_data(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)
    assert (folders.own, folders.classes, folders.test.labels.tolist()) == (False, 2, [1])
    with pytest.raises(InputError, match="holds no folders of pictures"):
        read_data(tmp_path / "b/train", tmp_path / "train", {}, {}, 5)
    grey(tmp_path / "b/test/grey/1.png", 0.5)
    with pytest.raises(InputError, match="no such class in --train"):
        read_data(tmp_path / "b/train", tmp_path / "b/test", {}, {}, 5)


@pytest.mark.parametrize("layout", ["{label}_{name}.png", "{folder}/{name}.png"])
def test_versions_are_matched_by_their_names(tmp_path, layout):
    """Two pictures of either class, whose versions stand in another order, with another ending, and not all."""
    at = [
        layout.format(label=label, folder=folder, name=name) for label, folder in ((0, "a"), (1, "b")) for name in "pqr"
    ]
    for place, path in enumerate(at):
        grey(tmp_path / "train" / path, 0.1 + place / 100)
        grey(tmp_path / "test" / path, 0.5 + place / 100)
    for place in (4, 0, 2):
        grey(tmp_path / "texture" / at[place].replace(".png", ".bmp"), 0.8 + place / 100)
    found = read_data(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 2)
    versions = found.train_shifts["texture"]
    for file, row, label in zip(versions.images.files, versions.rows, versions.images.labels, strict=True):
        assert file.with_suffix("").relative_to(tmp_path / "texture") == found.train.files[row].with_suffix(
            ""
        ).relative_to(tmp_path / "train")
        assert found.train.labels[row] == label
    grey(tmp_path / "texture" / layout.format(label=1, folder="b", name="other"), 0.9)
    with pytest.raises(
        InputError, match=r"--shift texture: 1 of the 4 pictures in .* no picture of the same name .*other"
    ):
        read_data(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 2)


def test_pictures_that_are_learned_from_and_tested_on_are_refused(tmp_path):
    for place in range(3):
        grey(tmp_path / "train" / f"{place % 2}_{place}.png", 0.1 + place / 10)
        grey(tmp_path / "test" / f"{place % 2}_t{place}.png", 0.15 + place / 10)
        grey(tmp_path / "texture" / f"{place % 2}_{place}.png", 0.7 + place / 10)
    read_data(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 5)
    grey(tmp_path / "test" / "1_again.png", 0.2)  # training picture 1 under another name
    grey(tmp_path / "test" / "0_version.png", 0.8)  # a version that is learned from
    with pytest.raises(
        InputError, match=r"1 of the test pictures are also training pictures \(e.g. .*1_again.png is .*1_1.png"
    ):
        read_data(tmp_path / "train", tmp_path / "test", {}, {}, 5)
    with pytest.raises(InputError, match=r"2 of the test pictures are also training pictures"):
        read_data(tmp_path / "train", tmp_path / "test", {"texture": tmp_path / "texture"}, {}, 5)
