"""Folders of other tools: MLflow's store, TensorBoard's event files, and which of them a folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import einstellung as e
from einstellung.errors import InputError

from .logs import SPLITS, assert_read, read, tidy, wide

TOLD = {"phase": "T2", "steps_per_epoch": 1}


def mlflow_store(root: Path) -> Path:
    """``mlruns`` as MLflow's file store writes it."""
    (root / "123").mkdir(parents=True)
    (root / "123/meta.yaml").write_text("experiment_id: '123'\nname: mine\n")
    (root / ".trash").mkdir()
    for number, ((method, seed), rows) in enumerate(wide().groupby(["method", "seed"])):
        run = root / "123" / f"{number:032x}"
        (run / "metrics").mkdir(parents=True)
        (run / "meta.yaml").write_text(f"run_name: {method}-seed{seed}\nlifecycle_stage: active\n")
        (run / "params").mkdir()
        (run / "params/lr").write_text("0.1")
        for split in SPLITS:
            (run / "metrics" / split).mkdir()
            lines = [f"17000000{epoch} {acc} {epoch}" for epoch, acc in enumerate(rows[f"{split}/acc"])]
            (run / "metrics" / split / "acc").write_text("\n".join(lines) + "\n")
    return root


def test_mlflow(tmp_path):
    store = mlflow_store(tmp_path / "mlruns")
    for folder in (tmp_path, store, store / "123"):
        assert_read(read(folder, **TOLD))
    one = read(store / "123" / f"{3:032x}", **TOLD)
    assert one[["method", "seed"]].drop_duplicates().values.tolist() == [["sgd", 2]]


def test_runs_deleted_in_mlflow_are_left_out(tmp_path):
    store = mlflow_store(tmp_path / "mlruns")
    meta = store / "123" / f"{0:032x}" / "meta.yaml"
    meta.write_text(meta.read_text().replace("active", "deleted"))
    assert ("scratch_t2", 1) not in set(zip(*read(store, **TOLD)[["method", "seed"]].values.T, strict=True))


def test_a_broken_metric_of_mlflow_is_named(tmp_path):
    store = mlflow_store(tmp_path / "mlruns")
    metric = store / "123" / f"{1:032x}" / "metrics" / SPLITS[0] / "acc"
    metric.write_text("1700000000 0.5 0\n1700000001\n")
    with pytest.raises(InputError, match=f"^{metric}, line 2: write 'timestamp value step'"):
        read(store, **TOLD)


def test_mlflow_from_python(tmp_path):
    result = e.score(mlflow_store(tmp_path / "mlruns"), phase="T2", steps_per_epoch=1)
    assert list(result.verdicts) == ["scratch_t2", "sgd"]
    page = result.save(tmp_path / "report.html").read_text()
    assert f"{1:032x}" in page  # the files that it was made from


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    for (method, seed), rows in wide().groupby(["method", "seed"]):
        writer = SummaryWriter(str(tmp_path / f"{method}-seed{seed}"))
        for epoch, row in enumerate(rows.to_dict("records")):
            for split in SPLITS:
                writer.add_scalar(f"{split}/acc", row[f"{split}/acc"], epoch)
        writer.close()
    assert_read(read(tmp_path, **TOLD))
    broken = next((tmp_path / "sgd-seed1").iterdir())
    broken.write_bytes(b"nothing that TensorBoard writes")
    with pytest.raises(InputError, match=r"is not a TensorBoard event file|hold no scalars"):
        read(broken, **TOLD)


def test_a_folder_of_two_tools_asks_which(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/events.out.tfevents.1").write_bytes(b"")
    (tmp_path / "a/run-1.wandb").write_bytes(b"")
    with pytest.raises(
        InputError, match="holds logs of TensorBoard and W&B: choose with --format tensorboard or wandb"
    ):
        read(tmp_path)


def test_tables_come_first(tmp_path):
    """A study that also logged to MLflow is read from its own timelines."""
    mlflow_store(tmp_path / "mlruns")
    tidy().to_csv(tmp_path / "timeline.csv", index=False)
    assert_read(read(tmp_path))
