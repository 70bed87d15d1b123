"""Folders of pictures: what their classes are, and what is said where they have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from einstellung.classifiers.labelled import by_wnid, labelled, located, opened
from einstellung.classifiers.wnids import known_wnids, wnids_in
from einstellung.errors import InputError

from .tiny import grey

IDS = [f"n{number:08d}" for number in range(5, 2005, 2)]


def test_a_number_at_the_start_of_a_name_is_the_class(tmp_path):
    for name in ("478_n02971356_carton.png", "7-b.png", "12_n01632777_a_b.PNG", "003.png"):
        grey(tmp_path / name, 0.5)
    (tmp_path / "notes.txt").write_text("no picture")
    found = labelled(tmp_path)
    assert [(file.name, int(label)) for file, label in zip(found.files, found.labels, strict=True)] == [
        ("003.png", 3),
        ("12_n01632777_a_b.PNG", 12),
        ("478_n02971356_carton.png", 478),
        ("7-b.png", 7),
    ]
    assert found.names == {478: "carton", 12: "a b"}
    assert found.wnids == {478: "n02971356", 12: "n01632777"}


def test_a_table_comes_before_names(tmp_path):
    grey(tmp_path / "pictures/1.png", 0.5)
    grey(tmp_path / "pictures/deep/x.png", 0.5)
    table = tmp_path / "labels.csv"
    table.write_text("file,label,name\n1.png,4,box\ndeep/x.png,2,\n")
    found = labelled(tmp_path / "pictures", table)
    assert (found.labels.tolist(), dict(found.names)) == ([4, 2], {4: "box"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("picture,label\n", "must name the columns file and label"),
        ("file,label\n1.png,4\n2.png,1\n", "line 3: there is no file .*2.png"),
        ("file,label\n1.png,box\n", "line 2: the label is 'box'"),
        ("file,label\n", "names no file"),
    ],
)
def test_a_wrong_table_is_told_by_its_line(tmp_path, content, message):
    grey(tmp_path / "1.png", 0.5)
    (tmp_path / "labels.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        labelled(tmp_path, tmp_path / "labels.csv")


def test_folders_are_classes_in_the_order_of_their_names(tmp_path):
    for place in ("b/1.png", "a/2.png", "a/3.png"):
        grey(tmp_path / place, 0.5)
    (tmp_path / "0 empty").mkdir()
    found = labelled(tmp_path)
    assert (found.labels.tolist(), found.names) == ([0, 0, 1], {0: "a", 1: "b"})


def test_another_number_of_folders_than_classes_is_refused_unless_their_names_tell(tmp_path):
    """Two of ImageNet's folders are not its classes 0 and 1."""
    for place in ("n01484850/1.png", "n02971356/2.png"):
        grey(tmp_path / place, 0.5)
    found = labelled(tmp_path)
    with pytest.raises(InputError, match=r"has 2 folders of pictures, and mine 1000 classes: .*--wnids FILE"):
        found.check(1000, "mine")
    found.check(2, "mine")
    mapped = labelled(tmp_path, wnids={"n01484850": 2, "n02971356": 478})
    assert mapped.labels.tolist() == [2, 478]
    mapped.check(1000, "mine")
    grey(tmp_path / "other/3.png", 0.5)
    with pytest.raises(InputError, match="'other' is no WordNet id"):
        labelled(tmp_path, wnids={"n01484850": 2, "n02971356": 478})


def test_the_digest_is_of_pictures_and_classes_whatever_files_are_called(tmp_path):
    grey(tmp_path / "a/1_x.png", 0.5)
    grey(tmp_path / "a/2_y.png", 0.7)
    grey(tmp_path / "b/2_b.png", 0.7)
    grey(tmp_path / "b/1_z.png", 0.5)
    grey(tmp_path / "c/1_x.png", 0.7)
    grey(tmp_path / "c/2_y.png", 0.5)
    first, renamed, turned = (labelled(tmp_path / name) for name in "abc")
    assert first.digest == renamed.digest != turned.digest
    assert first.facts() == {"files": 2, "classes": 2, "content": first.digest}


def test_pictures_without_a_class_and_files_that_are_none_are_named(tmp_path):
    with pytest.raises(InputError, match="holds no pictures"):
        labelled(tmp_path)
    grey(tmp_path / "cat.png", 0.5)
    with pytest.raises(InputError, match=r"cat.png: no class number.*--labels"):
        labelled(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"broken.png is no picture"):
        opened(tmp_path / "broken.png")
    with pytest.raises(InputError, match="is no folder"):
        labelled(tmp_path / "nowhere")


def test_labels_beyond_the_classes_are_refused(tmp_path):
    grey(tmp_path / "5.png", 0.5)
    with pytest.raises(InputError, match=r"5.png: its class is 5, and mine has 5 \(0 to 4\)"):
        labelled(tmp_path).check(5, "mine")


def test_ids_are_numbered_in_their_own_order(tmp_path):
    lines = tmp_path / "ids.txt"
    lines.write_text("\n".join(f"{one} some name" for one in reversed(IDS)))
    assert wnids_in(lines) == {one: number for number, one in enumerate(IDS)}
    table = tmp_path / "ids.json"
    table.write_text(json.dumps({"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]}))
    assert wnids_in(table) == {"n01440764": 0, "n01443537": 1}
    lines.write_text("\n".join(IDS[:-1]))
    with pytest.raises(InputError, match=r"has 999 WordNet ids.*all 1000"):
        wnids_in(lines)
    lines.write_text("tench\n")
    with pytest.raises(InputError, match="'tench' is no WordNet id"):
        wnids_in(lines)


def test_numbered_files_tell_ids_and_folders_use_them(tmp_path):
    grey(tmp_path / "plain/2_n01484850_shark.png", 0.5)
    grey(tmp_path / "styled/n01484850/a.png", 0.5)
    ids = known_wnids(None, tmp_path / "plain")
    assert by_wnid(tmp_path / "styled", ids).labels.tolist() == [2]
    grey(tmp_path / "styled/n01484851/a.png", 0.5)
    with pytest.raises(
        InputError, match="'n01484851' is a class whose number is not known; give all 1000 ids with --wnids"
    ):
        by_wnid(tmp_path / "styled", ids)


def test_a_folder_is_found_where_data_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    (tmp_path / "sample").mkdir()
    assert located(Path("sample")) == tmp_path / "sample"
    assert located(Path("nowhere")) == Path("nowhere")
