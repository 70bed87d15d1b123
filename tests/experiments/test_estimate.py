"""How long a study will take, and what --dry-run says about it."""

from __future__ import annotations

import math
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.dry_run import dry_run
from einstellung.experiments.estimate import epochs_alike, estimate
from einstellung.experiments.plan import Job, plan
from einstellung.experiments.schedule import makespan
from einstellung.results.config import build_config, merged

from .conftest import SMALL, einstellung, study


def job(folder, work, needs=None):
    return Job("run", "m", 1, folder, folder, needs, work)


def test_the_whole_follows_the_launchers_order():
    """Two workers; t1 (3 s) must come before a and b; the longest chain starts first."""
    jobs = [job("t1", 3), job("a", 4, "t1"), job("b", 2, "t1"), job("c", 5)]
    seconds = {entry.folder: entry.work for entry in jobs}
    # worker 1: t1 0-3, a 3-7; worker 2: c 0-5, b 5-7
    assert makespan(jobs, seconds, 2) == 7
    assert makespan(jobs, seconds, 1) == 14
    assert makespan(jobs, seconds, 9) == 7
    assert makespan([], {}, 2) == 0


def test_seconds_are_work_over_throughput_plus_evaluation(monkeypatch):
    from einstellung.experiments import estimate as module

    config = resolve(build_config(SMALL))
    stream = build_stream(config)
    monkeypatch.setattr(module, "measure_throughput", lambda *_: module.Throughput(training=0.5, evaluation=2.0))
    jobs = plan(config, stream)
    estimated = estimate(config, stream, jobs, 1)
    scratch = next(entry for entry in jobs if entry.method == "scratch_t2")
    in_t2 = sum(len(split.images) for split in stream.splits)
    # 3 epochs of 12 classes x 7 images; every split before the first and after each epoch
    assert estimated.seconds[scratch.folder] == pytest.approx(2.0 * 3 * 84 + 0.5 * 4 * in_t2)
    t1 = next(entry for entry in jobs if entry.kind == "first_phase" and entry.method == "sgd")
    assert estimated.seconds[t1.folder] == pytest.approx(2.0 * 24 * 8 + 0.5 * 2 * len(stream.split("T1_all").images))


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 12))
def test_epochs_of_one_kind_are_counted_not_listed(epochs, own, others):
    def kind(epoch: float) -> tuple[bool, bool, bool]:
        return epoch % 1 == 0 and epoch % own == 0, epoch % 1 == 0 and epoch % others == 0, False

    expected = Counter(kind(epoch) for epoch in range(epochs))
    counted = Counter()
    for epoch, count in epochs_alike(epochs, own, others):
        counted[kind(epoch)] += count
    assert counted == expected


def test_a_plan_takes_no_longer_for_a_million_epochs(monkeypatch):
    from einstellung.experiments import estimate as module

    monkeypatch.setattr(module, "measure_throughput", lambda *_: module.Throughput(training=1.0, evaluation=1.0))
    config = resolve(build_config(merged(SMALL, {"training": {"epochs": [10**6, 10**6]}})))
    stream = build_stream(config)
    begun = time.process_time()
    estimate(config, stream, plan(config, stream), 1)
    assert time.process_time() - begun < 2


def test_measurements_within_an_epoch_count(monkeypatch):
    from einstellung.experiments import estimate as module

    monkeypatch.setattr(module, "measure_throughput", lambda *_: module.Throughput(training=math.inf, evaluation=1.0))
    rarely = {"t1_all_every": 2, "extra_every": 2}  # only what the index needs is due within an epoch
    seconds = []
    for every in (None, 4):
        config = resolve(build_config(merged(SMALL, {"evaluation": {**rarely, "every_steps": every}})))
        stream = build_stream(config)
        jobs = plan(config, stream)
        seconds.append(estimate(config, stream, jobs, 1).seconds)
    needed = ("T2_val", "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal")
    within = sum(len(stream.split(name).images) for name in needed)
    # 84 images in batches of 8 are 11 steps: after the 4th and the 8th, in each of 3 epochs
    runs = [entry.folder for entry in jobs if entry.kind == "run"]
    assert {seconds[1][run] - seconds[0][run] for run in runs} == {2 * 3 * within}
    t1 = [sum(cost for folder, cost in each.items() if folder not in runs) for each in seconds]
    assert t1[0] == t1[1] > 0


def test_a_dry_run_writes_nothing_and_names_what_is_shared(small_config, tmp_path):
    out = tmp_path / "out"
    done = einstellung("run", small_config, "--out", out, "--dry-run")
    assert not out.exists()
    assert "4 runs, 2 first phases" in done.stdout
    assert "once for sgd, ewc_on" in done.stdout
    assert "images per second" in done.stdout


def test_what_is_finished_costs_nothing_more(small_config, tmp_path, monkeypatch):
    from einstellung.experiments import estimate as module

    monkeypatch.setattr(module, "measure_throughput", lambda *_: module.Throughput(training=1.0, evaluation=1e9))
    config = build_config({**SMALL, "methods": ["scratch_t2", "sgd"]})
    before = dry_run(tmp_path / "out", {"": config}, 1)["studies"]["small"]
    study(small_config, tmp_path / "out", methods=["scratch_t2"])
    after = dry_run(tmp_path / "out", {"": config}, 1)["studies"]["small"]
    assert [run["to_do"] for run in before["runs"]] == [True, True]
    assert [run["to_do"] for run in after["runs"]] == [False, True]
    assert before["seconds"] - after["seconds"] == pytest.approx(3 * 84)
