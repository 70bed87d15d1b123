"""Sources in folders: with an index, without one, and what is wrong with them."""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from einstellung.composites.build import CompositeSpec, build_composites, find_sources
from einstellung.composites.source_folders import find_folder, read_folder
from einstellung.errors import InputError
from tests.composites.small import save_picture, source_folder

ORDER = CompositeSpec(32, ((0.75, 0.75),), dict.fromkeys(("train", "val", "test")), False, 0)
PETS = next((Path(p) / "pets-on-scenes" for p in os.environ.get("EINSTELLUNG_DATA", "").split(os.pathsep) if p), None)


@pytest.fixture
def folder(tmp_path):
    return source_folder(tmp_path / "mine")


def write_index(folder, change=lambda rows: rows):
    rows = []
    for path in sorted(folder.rglob("*.png")):
        kind, label, _ = path.relative_to(folder).parts
        number = int(path.stem[len(label) :])
        split = ("train", "train", "train", "train", "val", "val", "test", "test")[number]
        rows.append({"file": path.relative_to(folder).as_posix(), "kind": kind[:-1], "label": label, "split": split})
    rows = change(rows)
    with (folder / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_an_index_gives_kinds_labels_and_splits(folder):
    rows = write_index(folder)
    sources = read_folder(folder)
    assert sources.labels == {"target": ("cat", "dog"), "background": ("urban", "country"), "object": ("a", "b")}
    row_of = {row["file"]: row for row in rows}
    for source in sources.items:
        row = row_of[source.name]
        assert (source.kind, source.split) == (row["kind"], row["split"])
        assert sources.labels[source.kind][source.value] == row["label"]
    assert sources.words == "pictures of the folder 'mine'"


def test_other_labels_can_come_first(folder):
    write_index(folder)
    labels = read_folder(folder, ("dog", "country")).labels
    assert labels == {"target": ("dog", "cat"), "background": ("country", "urban"), "object": ("a", "b")}
    with pytest.raises(InputError, match="first_labels has 'horse', which is not a label: give one of a, b, cat"):
        read_folder(folder, ("horse",))
    with pytest.raises(InputError, match="'cat' and 'dog' cannot both come first"):
        read_folder(folder, ("cat", "dog"))


def test_without_an_index_the_content_decides_about_the_split(tmp_path):
    folder = source_folder(tmp_path / "mine", each=20)
    before = {source.digest(): source.split for source in read_folder(folder).items}
    assert Counter(before.values()) == {"train": 6 * 14, "val": 6 * 3, "test": 6 * 3}
    for number, path in enumerate(sorted(folder.rglob("*.png"))):
        path.rename(path.with_name(f"{997 - number}.png"))
    assert {source.digest(): source.split for source in read_folder(folder).items} == before


def test_small_folders_leave_something_for_every_split(tmp_path):
    folder = source_folder(tmp_path / "mine", each=3)
    assert Counter(source.split for source in read_folder(folder).items) == {"train": 6, "val": 6, "test": 6}
    (folder / "objects" / "a" / "a0.png").unlink()
    with pytest.raises(InputError, match="has 2 images: training, validation and test need at least one each"):
        read_folder(folder)


def test_composites_of_a_folder_show_its_pictures(tmp_path):
    folder = source_folder(tmp_path / "mine", each=8)
    write_index(folder)
    with pytest.raises(InputError, match="there are only 2 cat targets for val: 4 are needed"):
        build_composites(read_folder(folder), ORDER, keep=False)
    made = build_composites(read_folder(source_folder(tmp_path / "more", each=28)), ORDER, keep=False)
    assert [len(plan.labels) for plan in made.plans] == [40, 8, 8]
    assert made.layers.compose(made.plans[0].parts).std() > 30


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: [{k: v for k, v in row.items() if k != "split"} for row in rows], "has no column 'split'"),
        (lambda rows: [row for row in rows if row["kind"] != "object"], "has no object: composites"),
        (
            lambda rows: [row for row in rows if row["label"] != "dog"],
            r"targets: .* two labels of each kind, found 1 \(cat\)",
        ),
        (
            lambda rows: [{**rows[0], "label": "bird", "kind": "target"}, *rows[1:]],
            "two labels of each kind, found 3",
        ),
        (lambda rows: [{**rows[0], "kind": "thing"}, *rows[1:]], "line 2: kind is 'thing', not one of target"),
        (lambda rows: [{**rows[0], "split": "dev"}, *rows[1:]], "line 2: split is 'dev'"),
        (lambda rows: [{**rows[0], "file": "../other.png"}, *rows[1:]], r"'../other.png' leads out of"),
        (lambda rows: [{**rows[0], "file": "targets/none.png"}, *rows[1:]], "line 2: .*none.png is missing"),
        (lambda rows: [rows[0], *rows], "lists 'backgrounds/country/country0.png' twice"),
    ],
)
def test_a_wrong_index_is_named(folder, change, words):
    write_index(folder, change)
    with pytest.raises(InputError, match=words):
        read_folder(folder)


def test_missing_folders_and_pictures_are_named(folder, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        read_folder(tmp_path / "nowhere")
    copy = folder / "targets" / "cat" / "again.png"
    copy.write_bytes((folder / "targets" / "cat" / "cat0.png").read_bytes())
    with pytest.raises(InputError, match=r"again.png and .*cat0.png are the same image: remove one"):
        read_folder(folder)
    copy.unlink()
    (folder / "objects").rename(folder / "things")
    with pytest.raises(InputError, match=r"has neither index.csv nor the folder objects/"):
        read_folder(folder)


def test_pictures_that_cannot_be_used_are_named(folder):
    path = folder / "targets" / "cat" / "cat0.png"
    source = next(s for s in read_folder(folder).items if s.name == "targets/cat/cat0.png")
    save_picture(path, 1, alpha=False)
    with pytest.raises(InputError, match=r"cat0.png has no alpha channel"):
        source.load()
    path.write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"cat0.png is not a readable image"):
        source.load()
    path.write_bytes(save_picture(folder / "other.png", 2, size=(40, 40)).read_bytes()[:600])
    with pytest.raises(InputError, match=r"cat0.png is not a readable image"):
        source.load()


def test_sources_are_found_by_name_where_data_are_looked_for(folder, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", str(folder.parent))
    assert find_folder("mine") == folder
    assert find_sources("mine", None, ORDER, ()).labels["target"] == ("cat", "dog")
    monkeypatch.setenv("EINSTELLUNG_DATA", str(folder))
    assert find_folder("mine") == folder
    with pytest.raises(InputError, match="no sources 'yours' in EINSTELLUNG_DATA="):
        find_folder("yours")
    with pytest.raises(InputError, match="first_labels is for sources in folders"):
        find_sources("procedural", None, ORDER, ("round",))


def test_photographs_where_there_are_any(tmp_path, monkeypatch):
    """``auto`` is pets-on-scenes where it is found, and what is drawn here elsewhere."""
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    assert find_sources("auto", None, ORDER, ()).labels["target"] == ("round", "spiky")
    source_folder(tmp_path / "pets-on-scenes")
    assert find_sources("auto", None, ORDER, ()).labels["target"] == ("cat", "dog")


@pytest.mark.skipif(PETS is None or not PETS.is_dir(), reason="pets-on-scenes not found in EINSTELLUNG_DATA")
def test_the_photographs_are_all_there():
    sources = read_folder(PETS)
    assert sources.labels == dict(
        zip(("target", "background", "object"), (("cat", "dog"), *(("urban", "country"),) * 2), strict=True)
    )
    for kind, counts in (("target", (630, 135, 135)), ("background", (630, 135, 135)), ("object", (28, 6, 6))):
        for value in (0, 1):
            assert tuple(len(sources.numbers(kind, split, value)) for split in ("train", "val", "test")) == counts
    order = CompositeSpec(64, ((0.95, 0.95),), {"train": 20, "val": 4, "test": 4}, False, 0)
    made = build_composites(sources, order, keep=False)
    assert list(made.counts(made.plans[0]).values()) == [17, 1, 1, 1] * 2
    masks = made.layers.target_masks(made.plans[0].parts)
    assert (masks.mean(axis=(1, 2)) > 0.03).all()
    assert np.all(masks.mean(axis=(1, 2)) <= 0.25)
