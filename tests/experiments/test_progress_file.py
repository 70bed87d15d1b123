"""``progress.json``: there while a study runs, with a sign of life, and gone when it ends in any way."""

from __future__ import annotations

import json
import time

import pytest

from einstellung.errors import InputError
from einstellung.experiments import progress_file
from einstellung.experiments.plan import Job
from einstellung.experiments.progress import Display
from einstellung.experiments.progress_file import ProgressFile

from . import in_process  # noqa: F401 (registers a launcher)
from .conftest import study


class Remembering(Display):
    def __init__(self):
        self.calls = []

    def __exit__(self, *error):
        self.calls.append("exit")

    def started(self, job):
        self.calls.append(("started", job.label))

    def advanced(self, job, work, where):
        self.calls.append(("advanced", job.label, work, where))

    def ended(self, job, failure):
        self.calls.append(("ended", job.label, failure))


JOBS = [Job("run", name, 1, f"runs/{name}-seed1", name, None, work) for name, work in (("a", 100.0), ("b", 300.0))]


def written(folder, found):
    until = time.monotonic() + 3
    while time.monotonic() < until:
        told = json.loads((folder / "progress.json").read_text())
        if found(told):
            return told
        time.sleep(0.02)
    raise AssertionError(told)


def test_it_records_and_passes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_file, "_PAUSE", 0.02)
    shown = Remembering()
    with ProgressFile(tmp_path, JOBS, shown) as display:
        assert [job["state"] for job in json.loads((tmp_path / "progress.json").read_text())["jobs"]] == ["waiting"] * 2
        display.started(JOBS[0])
        display.advanced(JOBS[0], 50.0, "T2 epoch 2/4")
        told = written(tmp_path, lambda told: told["share"] > 0)
        assert (told["share"], told["seconds_left"]) == (0.125, None)
        assert told["jobs"][0]["where"] == "T2 epoch 2/4"
        assert told["jobs"][0]["done"] == 0.5
        display.ended(JOBS[0], None)
        display.started(JOBS[1])
        display.ended(JOBS[1], "diverged")
        told = written(tmp_path, lambda told: told["share"] == 1.0)
        assert [(job["state"], job["reason"]) for job in told["jobs"]] == [("finished", None), ("failed", "diverged")]
    assert not (tmp_path / "progress.json").exists()
    assert shown.calls == [
        ("started", "a seed 1"),
        ("advanced", "a seed 1", 50.0, "T2 epoch 2/4"),
        ("ended", "a seed 1", None),
        ("started", "b seed 1"),
        ("ended", "b seed 1", "diverged"),
        "exit",
    ]


def test_it_shows_that_the_process_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_file, "_PAUSE", 0.02)
    monkeypatch.setattr(progress_file, "HEARTBEAT_SECONDS", 0.1)
    with ProgressFile(tmp_path, JOBS, Remembering()):
        first = (tmp_path / "progress.json").stat().st_mtime_ns
        time.sleep(0.6)
        assert (tmp_path / "progress.json").stat().st_mtime_ns > first


def test_an_interrupted_study_leaves_none(tmp_path):
    with pytest.raises(KeyboardInterrupt), ProgressFile(tmp_path, JOBS, Remembering()):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_study_goes_on_where_it_cannot_be_written(tmp_path, monkeypatch):
    def full(path, value):
        raise InputError("no space left")

    monkeypatch.setattr(progress_file, "write_json", full)
    with ProgressFile(tmp_path, JOBS, Remembering()) as display:
        display.started(JOBS[0])


def test_a_real_study_writes_it_and_removes_it(small_config, tmp_path, monkeypatch):
    seen = []
    write = progress_file.write_json
    monkeypatch.setattr(progress_file, "write_json", lambda path, value: (seen.append(value), write(path, value)))
    study(small_config, tmp_path / "out", methods=["scratch_t2"], launcher="in_process")
    assert [job["label"] for job in seen[0]["jobs"]] == ["scratch_t2 seed 1"]
    assert not list((tmp_path / "out").rglob("progress.json"))
    assert not list((tmp_path / "out").rglob("live.csv"))
