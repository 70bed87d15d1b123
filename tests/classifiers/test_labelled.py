"""Folders of pictures: what their classes are, and what is said where they have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from einstellung.classifiers.labelled import locate_folder, open_picture, read_labelled
from einstellung.errors import InputError

from .tiny import grey


def test_a_number_at_the_start_of_a_name_is_the_class(tmp_path):
    for name in ("478_n02971356_carton.png", "7-b.png", "12_n01632777_a_b.PNG", "003.png"):
        grey(tmp_path / name, 0.5)
    (tmp_path / "notes.txt").write_text("no picture")
    found = read_labelled(tmp_path)
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
    found = read_labelled(tmp_path / "pictures", table)
    assert (found.labels.tolist(), dict(found.names)) == ([4, 2], {4: "box"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("picture,label\n", "must name the columns file and label"),
        ("file,label\n1.png,4\n2.png,1\n", "line 3: there is no file .*2.png"),
        ("file,label\n1.png,box\n", "line 2: the label 'box' is not a class number"),
        ("file,label\n", "names no file"),
    ],
)
def test_an_error_in_a_table_names_its_line(tmp_path, content, message):
    grey(tmp_path / "1.png", 0.5)
    (tmp_path / "labels.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_labelled(tmp_path, tmp_path / "labels.csv")


def test_folders_are_classes_in_the_order_of_their_names(tmp_path):
    for place in ("b/1.png", "a/2.png", "a/3.png"):
        grey(tmp_path / place, 0.5)
    (tmp_path / "0 empty").mkdir()
    found = read_labelled(tmp_path)
    assert (found.labels.tolist(), found.names) == ([0, 0, 1], {0: "a", 1: "b"})


def test_another_number_of_folders_than_classes_is_refused_unless_their_names_decide(tmp_path):
    """Two of ImageNet's folders are not its classes 0 and 1."""
    for place in ("n01484850/1.png", "n02971356/2.png"):
        grey(tmp_path / place, 0.5)
    found = read_labelled(tmp_path)
    with pytest.raises(InputError, match=r"has 2 folders of pictures but mine has 1000 classes: .*--wnids FILE"):
        found.check(1000, "mine")
    found.check(2, "mine")
    mapped = read_labelled(tmp_path, wnids={"n01484850": 2, "n02971356": 478})
    assert mapped.labels.tolist() == [2, 478]
    mapped.check(1000, "mine")
    grey(tmp_path / "other/3.png", 0.5)
    with pytest.raises(InputError, match="'other' is not a WordNet id"):
        read_labelled(tmp_path, wnids={"n01484850": 2, "n02971356": 478})


def test_the_digest_is_of_pictures_and_classes_whatever_files_are_called(tmp_path):
    grey(tmp_path / "a/1_x.png", 0.5)
    grey(tmp_path / "a/2_y.png", 0.7)
    grey(tmp_path / "b/2_b.png", 0.7)
    grey(tmp_path / "b/1_z.png", 0.5)
    grey(tmp_path / "c/1_x.png", 0.7)
    grey(tmp_path / "c/2_y.png", 0.5)
    first, renamed, turned = (read_labelled(tmp_path / name) for name in "abc")
    assert first.digest == renamed.digest != turned.digest
    assert first.facts() == {"files": 2, "classes": 2, "content": first.digest}


def test_pictures_without_a_class_and_files_that_are_none_are_named(tmp_path):
    with pytest.raises(InputError, match="holds no pictures"):
        read_labelled(tmp_path)
    grey(tmp_path / "cat.png", 0.5)
    with pytest.raises(InputError, match=r"cat.png: no class number.*--labels"):
        read_labelled(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"broken.png is not a readable picture"):
        open_picture(tmp_path / "broken.png")
    with pytest.raises(InputError, match="is not a folder"):
        read_labelled(tmp_path / "nowhere")


def test_labels_beyond_the_classes_are_refused(tmp_path):
    grey(tmp_path / "5.png", 0.5)
    with pytest.raises(InputError, match=r"5.png: its class is 5, but mine has 5 classes \(0 to 4\)"):
        read_labelled(tmp_path).check(5, "mine")


def test_a_folder_is_found_where_data_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_DATA", str(tmp_path))
    (tmp_path / "sample").mkdir()
    assert locate_folder(Path("sample")) == tmp_path / "sample"
    assert locate_folder(Path("nowhere")) == Path("nowhere")
