"""A folder that somebody took away is not made again by what is written below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from einstellung.files import write_atomically, write_text
from einstellung.folders import FolderGoneError, make_folder, never_recreated, require_present


def test_folders_are_made_below_one_that_is_there(tmp_path):
    root = tmp_path / "study"
    root.mkdir()
    with never_recreated(root):
        write_text(root / "runs/sgd-seed1/timeline.csv", "a")
        write_text(root / "../first_phases/sgd/state", "b")
        make_folder(tmp_path / "elsewhere/else")
        require_present(root / "runs")
    assert (root / "runs/sgd-seed1/timeline.csv").read_text() == "a"
    assert (tmp_path / "first_phases/sgd/state").read_text() == "b"
    assert (tmp_path / "elsewhere/else").is_dir()


@pytest.mark.parametrize("name", ["timeline.csv", "runs/sgd-seed1/timeline.csv", "../first_phases/sgd/state"])
def test_nothing_below_one_that_is_gone(name, tmp_path, monkeypatch):
    root = tmp_path / "study"
    root.mkdir()
    monkeypatch.chdir(tmp_path)
    with never_recreated(root):
        root.rename(tmp_path / "moved")
        with pytest.raises(FolderGoneError, match=r"study is gone: it was moved or deleted"):
            write_text(root / name, "a")
        with pytest.raises(FolderGoneError):
            write_text(f"study/{name}", "a")
        with pytest.raises(FolderGoneError):
            require_present(root / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["moved"]
    write_text(root / "timeline.csv", "a")  # no study is there any more


def test_the_folder_of_a_study_within_a_sweep(tmp_path):
    root = tmp_path / "sweep"
    (root / "a").mkdir(parents=True)
    with never_recreated(root), never_recreated(root / "a"):
        write_text(root / "a/runs/timeline.csv", "a")
        write_text(root / "b/runs/timeline.csv", "b")
        (root / "a").rename(tmp_path / "moved")
        with pytest.raises(FolderGoneError, match="sweep/a is gone"):
            write_text(root / "a/runs/timeline.csv", "a")
    assert not (root / "a").exists()


def test_one_that_goes_while_a_file_is_written(tmp_path):
    root = tmp_path / "study"
    root.mkdir()

    def write(temporary: Path) -> None:
        temporary.write_text("a")
        root.rename(tmp_path / "moved")

    with never_recreated(root), pytest.raises(FolderGoneError):
        write_atomically(root / "a.csv", write)
    assert not root.exists()
