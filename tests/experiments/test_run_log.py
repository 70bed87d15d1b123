"""Files to watch a run by: what is in them, also when the run goes on from a checkpoint."""

from __future__ import annotations

import builtins

import pandas as pd
import pytest

from einstellung.errors import InputError
from einstellung.experiments.run_log import RunLog, require_log_targets

from .conftest import study


def row(epoch: float, acc: float) -> dict[str, object]:
    return {"phase": "T2", "epoch": epoch, "split": "T2_val", "acc": acc, "loss": 1.5}


def events(folder) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return {tag: [(e.step, round(e.value, 4)) for e in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def test_a_study_logs_what_it_is_asked_to(small_config, tmp_path):
    study(small_config, tmp_path / "out", methods=["scratch_t2"], logging=["csv", "tensorboard"])
    folder = tmp_path / "out" / "runs" / "scratch_t2-seed1"
    log, timeline = pd.read_csv(folder / "log.csv"), pd.read_csv(folder / "timeline.csv")
    assert log[list(timeline.columns)].equals(timeline)
    assert log["lr"].dropna().eq(0.01).all()
    assert log["seconds"].is_monotonic_increasing
    shown = events(folder / "tensorboard")
    curve = timeline[timeline["split"] == "T2_val"]
    assert shown["T2/acc/T2_val"] == [
        (round(1000 * e), round(a, 4)) for e, a in zip(curve.epoch, curve.acc, strict=True)
    ]


def test_nothing_is_logged_unless_asked_for(small_config, tmp_path):
    study(small_config, tmp_path / "out", methods=["scratch_t2"])
    folder = tmp_path / "out" / "runs" / "scratch_t2-seed1"
    assert not (folder / "log.csv").exists()
    assert not (folder / "tensorboard").exists()


def test_a_run_that_goes_on_repeats_nothing(tmp_path):
    killed = RunLog(tmp_path, ["csv", "tensorboard"])
    killed.start()
    killed.add([row(1, 0.25)], 0.1)
    killed.add([row(2, 0.5)], 0.1)  # measured, but the process dies before its checkpoint
    killed.close()
    resumed = RunLog(tmp_path, ["csv", "tensorboard"])
    resumed.start([row(1, 0.25)])
    resumed.add([row(2, 0.5)], 0.1)
    resumed.close()
    assert pd.read_csv(tmp_path / "log.csv")["epoch"].tolist() == [1, 2]
    assert events(tmp_path / "tensorboard")["T2/acc/T2_val"] == [(1000, 0.25), (2000, 0.5)]


def test_a_missing_tensorboard_is_named_before_anything_is_trained(monkeypatch, small_config, tmp_path):
    find = builtins.__import__

    def without(name, *rest):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return find(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'einstellung\[tensorboard\]'"):
        require_log_targets(["tensorboard"])
    with pytest.raises(InputError, match="tensorboard"):
        study(small_config, tmp_path / "out", logging=["tensorboard"])
    assert not list((tmp_path / "out").glob("runs/*"))
