"""What jobs elsewhere rest on: equal code, files by hash, run folders as bytes, private folders, lives of jobs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from einstellung.errors import InputError
from einstellung.experiments import remote
from einstellung.experiments.launchers.ray import _Life
from einstellung.experiments.plan import Job
from einstellung.experiments.remote import Code, files_of, folder_contents, private_folder, with_files_in, write_folder
from einstellung.results.config import build_config


def test_other_code_or_another_torch_is_refused(monkeypatch):
    here = Code.here()
    here.require("node 1")
    with pytest.raises(InputError, match="node 1 has another version of einstellung"):
        Code("0123456789abcdef", here.packages).require("node 1")
    with pytest.raises(InputError, match=r"node 1 has torch .*, the study was started with 1\.0"):
        Code(here.sources, {**here.packages, "torch": "1.0"}).require("node 1")


def test_a_run_folder_arrives_as_it_was_without_what_belongs_to_an_unfinished_run(tmp_path, monkeypatch):
    for name in (
        "timeline.csv",
        "status.json",
        "tensorboard/events",
        "live.csv",
        "checkpoint.safetensors",
        ".a-x.writing.csv",
    ):
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_bytes(name.encode())
    order, write = [], remote.write_bytes
    monkeypatch.setattr(remote, "write_bytes", lambda path, content: order.append(path.name) or write(path, content))
    sent = folder_contents(tmp_path / "run")
    assert set(sent) == {"timeline.csv", "status.json", "tensorboard/events"}
    write_folder(tmp_path / "here", sent)
    assert folder_contents(tmp_path / "here") == sent
    assert order[-1] == "status.json"  # it says that all else is there


@pytest.mark.parametrize("name", ["../elsewhere.csv", "/tmp/elsewhere.csv", "a/../../b"])
def test_nothing_is_written_outside_the_run_folder(tmp_path, name):
    with pytest.raises(InputError, match="outside of it"):
        write_folder(tmp_path / "run", {name: b""})
    assert list(tmp_path.iterdir()) == []


def test_files_of_the_user_are_placed_by_their_hash_and_made_again_when_they_differ(tmp_path):
    plugin, weights = tmp_path / "mine.py", tmp_path / "w.safetensors"
    plugin.write_text("x = 1\n")
    weights.write_bytes(b"weights")
    sha256 = hashlib.sha256(plugin.read_bytes()).hexdigest()
    config = build_config(
        {
            "plugins": [{"file": str(plugin), "sha256": sha256}],
            "backbone": {"name": "resnet18", "weights": str(weights)},
        }
    )
    files = files_of(config)
    moved = with_files_in(tmp_path / "node", config, files)
    placed = tmp_path / "node" / sha256 / "mine.py"
    assert moved.plugins[0].file == str(placed)
    assert placed.read_text() == "x = 1\n"
    there = moved.backbone.options["weights"]
    assert Path(there).read_bytes() == b"weights"
    placed.write_text("x = 2\n")
    with_files_in(tmp_path / "node", config, files)
    assert placed.read_text() == "x = 1\n"
    weights.unlink()
    with pytest.raises(InputError, match=r"cannot read .*w\.safetensors"):
        files_of(config)


def test_a_private_folder_of_others_is_refused(tmp_path):
    assert (private_folder(tmp_path / "mine").stat().st_mode & 0o777) == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    os.symlink(tmp_path / "mine", tmp_path / "link")
    for name in ("open", "link"):
        with pytest.raises(InputError, match="set TMPDIR to a folder of your own"):
            private_folder(tmp_path / name)


def test_deaths_count_in_a_row_and_begin_again_where_a_job_got_further():
    life = _Life(Job("run", "sgd", 1, "runs/sgd-seed1", "k", None, work=100.0))
    counts = []
    for furthest in (0.0, 1.0, 30.0, 31.0, 31.5, 60.0):  # work that each attempt reached
        life.furthest = max(life.furthest, furthest)
        counts.append(life.died())
    assert counts == [1, 2, 1, 2, 3, 1]
    assert life.attempt == 6
