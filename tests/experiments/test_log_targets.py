"""What a run exports, import reads back to the same timeline; measuring and logging change nothing in training."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.experiments.log_targets import LoggedRun
from einstellung.experiments.run_log import RunLog, require_log_targets
from einstellung.timeline import ImportOptions, Timeline

from .exported import assert_same, run_and_read_back


def row(epoch: float, acc: float, split: str = "T2_val") -> dict[str, object]:
    return {"method": "sgd", "seed": 1, "phase": "T2", "epoch": epoch, "split": split, "acc": acc, "loss": 1.5, "n": 10}


def test_tensorboard_reads_back(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
    assert_same(*run_and_read_back("tensorboard", tmp_path), precision=np.float32)


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_other_tools_read_back(tmp_path, kind):
    pytest.importorskip(kind, reason=f"the extra {kind} is not installed")
    assert_same(*run_and_read_back(kind, tmp_path))


@pytest.mark.parametrize("kind", ["tensorboard", "mlflow", "wandb"])
def test_a_resumed_run_replaces_its_log_and_moments_within_a_step_stay_apart(tmp_path, kind):
    pytest.importorskip(kind, reason=f"the extra {kind} is not installed")
    run = LoggedRun(tmp_path / "runs" / "sgd-seed1", tmp_path, method="sgd", seed=1)
    killed = RunLog(run, [kind])
    killed.start()
    killed.add([row(0.0001, 0.25)], 0.1)
    killed.add([row(0.5, 0.9)], 0.1)  # measured, but the process dies before its checkpoint
    killed.close()
    resumed = RunLog(run, [kind])
    resumed.start([row(0.0001, 0.25), row(0.0001, 0.125, "T1_all"), row(0.0002, 0.375)])
    resumed.add([row(1, 0.5)], 0.1)
    resumed.close()
    timeline = Timeline.read_many([tmp_path], ImportOptions(format=kind))
    epochs, accs = timeline.curve("sgd", 1, "T2", "T2_val")
    assert epochs.tolist() == [0.0001, 0.0002, 1]
    assert accs.tolist() == [0.25, 0.375, 0.5]
    assert timeline.curve("sgd", 1, "T2", "T1_all")[1].tolist() == [0.125]


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_a_shared_first_phase_is_logged_by_its_runs_alone(tmp_path, kind):
    log = RunLog(LoggedRun(tmp_path / "first", tmp_path, shared=True), [kind])
    log.start([row(1, 0.5)])
    log.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, kind):
    find = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == kind:
            raise ImportError(name)
        return find(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=rf"{kind} is not installed; pip install 'einstellung\[{kind}\]'"):
        require_log_targets([kind])
