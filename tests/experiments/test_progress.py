"""What a running study shows: the time left, accuracies, failures."""

from __future__ import annotations

import re

import pytest

from einstellung.experiments import progress
from einstellung.experiments.assembly import build_stream, data_digests, resolve
from einstellung.experiments.execution import JobRunner
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.progress import PlainLines, WorkProgress
from einstellung.experiments.shown_accuracy import shown_accuracy
from einstellung.experiments.study import prepare_study, run_study
from einstellung.files import write_text
from einstellung.results.config import build_config, merged
from einstellung.results.folder import TRACE, ResultsFolder

from . import in_process  # noqa: F401 (registers a launcher)
from .conftest import SMALL


def job(name, work):
    return Job("run", name, 1, name, name, None, work)


def test_the_rate_is_that_of_the_work_done_now(monkeypatch):
    """A job resumed at 60 of 100 has gained 20 after ten seconds: the other 120 take a minute."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    resumed, fresh = job("resumed", 100.0), job("fresh", 100.0)
    done = WorkProgress([resumed, fresh])
    done.update(resumed, 60.0)
    assert done.time_left() == "estimating time left"
    clock[0] = 10.0
    done.update(resumed, 80.0)
    assert done.share == 0.4
    assert done.time_left() == "about 1 min 00 s left"
    clock[0] = 20.0
    done.finish(resumed)
    done.finish(fresh)  # so short that it reported nothing
    assert done.time_left() == "about 0 s left"


def test_the_time_left_includes_the_report(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    only = job("only", 100.0)
    done = WorkProgress([only], closing=25.0)
    done.update(only, 0.0)
    clock[0] = 10.0
    done.update(only, 50.0)
    assert done.time_left() == "about 35 s left"
    done.finish(only)
    assert done.time_left() == "about 25 s left"


@pytest.fixture(scope="module")
def stream():
    return build_stream(resolve(build_config(SMALL)))


def row(phase, split, acc):
    return {"phase": phase, "split": split, "acc": acc}


def test_accuracies_are_the_latest_of_the_phase(stream):
    first, last = stream.phases
    rows = [row("T1", "T1_all", 0.5), row("T2", "T1_all", 0.1)]
    assert shown_accuracy(stream, first, rows) == "test 50 %"
    assert shown_accuracy(stream, last, rows) == ""  # T1's images are not this phase's
    for acc in (0.25, 0.714):
        rows += [row("T2", "T2_val", acc), row("T2", "T2_shortcut_normal", acc + 0.2)]
    assert shown_accuracy(stream, last, rows) == "val 71 %"
    rows += [row("T2", "T2_shortcut_masked", 0.04)]
    assert shown_accuracy(stream, last, rows) == "val 71 %, cue 91 %, covered 4 %"


def test_a_run_shows_its_accuracies_and_a_failure_its_traceback(tmp_path, capsys):
    there = []

    def run(out, lr):
        class Watching(PlainLines):
            def ended(self, job, failure):
                there.append((out / job.folder / TRACE).exists())
                super().ended(job, failure)

        change = {"methods": ["scratch_t2"], "launcher": "in_process", "stream": {"size": 8}}
        prepared = prepare_study(build_config(merged(SMALL, {**change, "training": {"epochs": [1, 2], "lr": lr}})), out)
        with ResultsFolder(out).in_use():
            run_study(prepared, out, 1, "a test", make_display=Watching)
        return capsys.readouterr().err.splitlines()[-1]

    file = tmp_path / "failed/runs/scratch_t2-seed1" / TRACE
    said = run(tmp_path / "failed", 1e30)
    assert there == [True]  # at the moment when the line was printed
    assert said.startswith("FAILED scratch_t2 seed 1: FloatingPointError: ")
    assert f"; traceback: {file}" in said
    lines = file.read_text().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert len(lines) > 5

    said = run(tmp_path / "done", 0.01)
    assert re.match(r"done   scratch_t2 seed 1  last epoch: val \d+ %, cue \d+ %, covered \d+ %  \(1 of 1 jobs; ", said)


def test_the_traceback_of_an_earlier_attempt_goes(tmp_path):
    config = resolve(build_config(merged(SMALL, {"methods": ["scratch_t2"], "training": {"epochs": [1, 1]}})))
    stream = build_stream(config)
    (job,) = plan(config, stream)
    write_text(tmp_path / job.folder / TRACE, "Traceback of an earlier attempt")
    assert JobRunner(config, tmp_path, data_digests(stream))(job, lambda work, where: None) is None
    assert not (tmp_path / job.folder / TRACE).exists()
