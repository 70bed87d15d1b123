"""Every layout is found where it should be, and what is wrong with a copy is said in one line."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources import load_cifar100
from einstellung.sources.locations import data_locations
from tests.sources.archives import COARSE_NAMES, FOLDER, small_files, write_archive, write_folder

PLACES = [Path("elsewhere"), Path("data"), Path("data/CIFAR100")]


def put(layout: str, place: Path, files) -> Path:
    if layout == "folder":
        return write_folder(place / FOLDER, files)
    if layout == "bare folder":
        return write_folder(place, files)
    if layout.startswith("bare "):
        return write_archive(place / f"{FOLDER}.{layout.removeprefix('bare ')}", files, folder="")
    return write_archive(place / f"{FOLDER}.{layout}", files)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("layout", ["folder", "bare folder", "tar.gz", "tar.xz", "zip", "bare tar.xz", "bare zip"])
def test_every_layout_in_every_place(layout, place, files, published, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "elsewhere")
    path = put(layout, place, files)
    data = load_cifar100(published)
    assert data.found == path
    for part, arrays in (("train", data.train), ("test", data.test)):
        raw = pickle.loads(files[part], encoding="bytes")
        assert arrays.images.shape == (len(raw[b"fine_labels"]), 3, 32, 32)
        assert np.array_equal(arrays.images.reshape(-1, 3072), raw[b"data"])
        assert arrays.fine.tolist() == raw[b"fine_labels"]
        assert arrays.coarse.tolist() == raw[b"coarse_labels"]
    assert data.coarse_names == COARSE_NAMES
    assert data.fine_names[41] == "fine_41"


@pytest.mark.parametrize("name", ["any name.tar.gz", "other.tar.xz", "mine.zip"])
def test_the_variable_may_name_the_archive_itself(name, files, published, monkeypatch, tmp_path):
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path / name))
    path = write_archive(tmp_path / name, files)
    assert load_cifar100(published).found == path


def test_the_variable_comes_first_then_the_working_folder(files, published, monkeypatch):
    for place in PLACES:
        write_archive(place / f"{FOLDER}.zip", files)
    monkeypatch.setenv("EINSTELLUNG_DATA", "elsewhere")
    assert load_cifar100(published).found == Path("elsewhere") / f"{FOLDER}.zip"
    monkeypatch.delenv("EINSTELLUNG_DATA")
    assert load_cifar100(published).found == Path("data") / f"{FOLDER}.zip"


def test_the_variable_may_name_several_places(files, published, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", os.pathsep.join(("nowhere", "first", "second")))
    second = write_archive(Path("second") / f"{FOLDER}.zip", files)
    assert load_cifar100(published).found == second
    first = write_archive(Path("first") / f"{FOLDER}.zip", files)
    assert load_cifar100(published).found == first


def test_a_variable_that_names_nothing_leaves_the_other_places(files, published, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "nowhere")
    path = write_archive(Path("data") / f"{FOLDER}.zip", files)
    assert load_cifar100(published).found == path


def test_nothing_found_names_every_place_and_the_way_out(published, monkeypatch):
    with pytest.raises(InputError) as caught:
        load_cifar100(published)
    assert str(caught.value).startswith(
        "CIFAR-100 not found in ./data, ./data/CIFAR100 (EINSTELLUNG_DATA is not set): run 'einstellung data get cifar100'"
    )
    monkeypatch.setenv("EINSTELLUNG_DATA", "nowhere")
    with pytest.raises(InputError, match=r"not found in EINSTELLUNG_DATA=nowhere, ./data, ./data/CIFAR100: run"):
        load_cifar100(published)


def test_an_empty_variable_is_no_place(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", "")
    assert [location.title for location in data_locations()] == ["./data", "./data/CIFAR100"]


@pytest.mark.parametrize("layout", ["folder", "tar.gz", "zip"])
def test_other_content_than_the_published_one(layout, files, published):
    path = put(layout, Path("data"), {**files, "test": small_files(seed=1)["test"]})
    with pytest.raises(InputError) as caught:
        load_cifar100(published)
    message = str(caught.value)
    assert f"no usable CIFAR-100: 'test' in {path} is not the published file (md5 " in message
    assert f"should be {published.md5['test']}" in message
    assert "searched ./data, ./data/CIFAR100" in message
    assert "run 'einstellung data get cifar100'" in message


@pytest.mark.parametrize("layout", ["folder", "tar.xz", "zip"])
def test_a_missing_file(layout, files, published):
    path = put(layout, Path("data"), {name: files[name] for name in ("train", "test")})
    with pytest.raises(InputError, match=f"no usable CIFAR-100: {path} lacks meta"):
        load_cifar100(published)


@pytest.mark.parametrize("layout", ["tar.gz", "tar.xz", "zip"])
def test_an_archive_that_is_cut(layout, files, published):
    path = put(layout, Path("data"), files)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=f"no usable CIFAR-100: {path} is damaged"):
        load_cifar100(published)
    path.write_bytes(b"not an archive")
    with pytest.raises(InputError, match=f"{path} is damaged"):
        load_cifar100(published)


def test_an_intact_copy_is_used_instead_of_a_broken_one(files, published):
    put("folder", Path("data"), {name: files[name] for name in ("train", "meta")})
    whole = put("tar.gz", Path("data"), files)
    assert load_cifar100(published).found == whole


def test_files_elsewhere_in_an_archive_are_not_taken(files, published):
    path = write_archive(Path("data") / f"{FOLDER}.tar.gz", files, folder="../up/")
    with pytest.raises(InputError, match=f"{path} lacks train, test, meta"):
        load_cifar100(published)


def test_right_md5_but_no_cifar(files, published):
    """Only a record that names other files can get here; the reader still says what it misses."""
    other = {**files, "meta": files["train"]}
    put("folder", Path("data"), other)
    with pytest.raises(InputError, match=r"does not hold the content of CIFAR-100 \(KeyError\('fine_label_names'\)\)"):
        load_cifar100(replace(published, md5={**published.md5, "meta": published.md5["train"]}))
