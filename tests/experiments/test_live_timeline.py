"""``live.csv``: what those who watch a run see, and that watching changes nothing."""

from __future__ import annotations

import pandas as pd
import pytest

from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.live_timeline import LiveTimeline
from einstellung.experiments.plan import plan
from einstellung.results.config import build_config, merged
from einstellung.timeline import Timeline

from .conftest import SMALL, results


@pytest.fixture(scope="module")
def config():
    return resolve(build_config(merged(SMALL, {"methods": ["scratch_t2"], "learners": {}})))


@pytest.fixture(scope="module")
def stream(config):
    return build_stream(config)


def execute(config, stream, folder):
    (job,) = plan(config, stream)
    JobExecution(job, config, folder, stream, lambda work, where: None).run()
    return folder / job.folder


def test_after_every_measurement_the_timeline_so_far_is_there(config, stream, tmp_path, monkeypatch):
    seen = []
    add = LiveTimeline.add

    def adding(self, rows):
        add(self, rows)
        if rows:
            seen.append(Timeline.read(self.file).frame)

    monkeypatch.setattr(LiveTimeline, "add", adding)
    run = execute(config, stream, tmp_path)
    assert not (run / "live.csv").exists()
    whole = Timeline.read(run / "timeline.csv").frame
    epochs = [frame["epoch"].max() for frame in seen]
    assert sorted(set(epochs)) == [0, 1, 2, 3]
    for frame in seen:
        both = frame.merge(whole, how="left", on=["method", "seed", "phase", "epoch", "split"], indicator=True)
        assert (both["_merge"] == "both").all()
        assert (both["acc_x"] == both["acc_y"]).all()
        assert (both["loss_x"] == both["loss_y"]).all()
    assert len(seen[-1]) == len(whole)


def test_training_is_the_same_bit_for_bit_without_it(config, stream, tmp_path, monkeypatch):
    execute(config, stream, tmp_path / "with")
    monkeypatch.setattr(LiveTimeline, "add", lambda self, rows: None)
    execute(config, stream, tmp_path / "without")
    assert results(tmp_path / "with") == results(tmp_path / "without") != {}


def test_a_resumed_run_begins_with_its_rows(tmp_path):
    row = {"method": "sgd", "seed": 1, "phase": "T2", "epoch": 1.0, "split": "T2_val", "acc": 0.5, "loss": 1.0, "n": 4}
    killed = LiveTimeline(tmp_path)
    killed.add([row, {**row, "epoch": 2.0}])
    resumed = LiveTimeline(tmp_path)
    resumed.add([row])
    resumed.add([{**row, "epoch": 2.0}])
    assert pd.read_csv(tmp_path / "live.csv")["epoch"].tolist() == [1, 2]
    resumed.add([])
    resumed.remove()
    resumed.remove()
    assert list(tmp_path.iterdir()) == []
