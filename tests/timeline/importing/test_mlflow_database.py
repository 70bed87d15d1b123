"""MLflow's SQLite store: read as it is, never written to, and refused in one line where it is something else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import einstellung as e
from einstellung.errors import InputError
from einstellung.timeline.importing import mlflow_database as mlflow_module

from .logs import SPLITS, assert_read, read, wide

TOLD = {"phase": "T2", "steps_per_epoch": 1}

# The tables as MLflow's migrations make them, without the columns and tables that hold nothing of a run's metrics.
SCHEMA = """
CREATE TABLE experiments (experiment_id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(256) NOT NULL UNIQUE,
    artifact_location VARCHAR(256), lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT);
CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, name VARCHAR(250), source_type VARCHAR(20), user_id VARCHAR(256),
    status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200),
    experiment_id INTEGER, deleted_time BIGINT);
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value DOUBLE NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL,
    step BIGINT DEFAULT 0 NOT NULL, is_nan BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL,
    PRIMARY KEY (key, run_uuid));
CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
"""


def mlflow_database(file: Path) -> Path:
    """``mlflow.db`` as MLflow's SQLite store writes it."""
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(SCHEMA)
        database.execute("INSERT INTO experiments VALUES (1, 'study', '', 'active', 0, 0)")
        for number, ((method, seed), rows) in enumerate(wide().groupby(["method", "seed"])):
            run = f"{number:032x}"
            values = (run, f"run {number}", "LOCAL", "me", "FINISHED", number, number, "active", "", 1, None)
            database.execute(f"INSERT INTO runs VALUES ({', '.join('?' * 11)})", values)
            for key, value in (("method", method), ("seed", str(seed))):
                database.execute("INSERT INTO params VALUES (?, ?, ?)", (key, value, run))
            database.execute("INSERT INTO tags VALUES ('mlflow.runName', ?, ?)", (f"run {number}", run))
            for epoch, row in enumerate(rows.to_dict("records")):
                for split in SPLITS:
                    metric = (f"{split}/acc", row[f"{split}/acc"], 1_700_000_000_000 + epoch, run, epoch, 0)
                    database.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", metric)
    return file


def change(file: Path, statement: str) -> Path:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)
    return file


def test_an_sqlite_store_of_mlflow(tmp_path):
    file = mlflow_database(tmp_path / "mlflow.db")
    before = file.read_bytes()
    for place in (file, tmp_path):
        assert_read(read(place, **TOLD))
    assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]  # nothing is made next to it
    assert file.read_bytes() == before
    result = e.score(file, phase="T2", steps_per_epoch=1)
    assert list(result.verdicts) == ["scratch_t2", "sgd"]


FIRST = f"WHERE run_uuid = '{0:032x}'"


@pytest.mark.parametrize(
    "statements",
    [
        [f"UPDATE runs SET lifecycle_stage = 'deleted' {FIRST}"],
        [
            "INSERT INTO experiments VALUES (2, 'old', '', 'deleted', 0, 0)",
            f"UPDATE runs SET experiment_id = 2 {FIRST}",
        ],
    ],
)
def test_deleted_runs_and_experiments_are_left_out(statements, tmp_path):
    file = mlflow_database(tmp_path / "mlflow.db")
    for statement in statements:
        change(file, statement)
    assert ("scratch_t2", 1) not in set(zip(*read(file, **TOLD)[["method", "seed"]].values.T, strict=True))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP TABLE params", r"is a database, but not one of MLflow's: it has no table 'params'"),
        (
            "UPDATE metrics SET value = 'much' WHERE step = 1",
            r"has a value of 'T2_shortcut_masked/acc' that is not a number",
        ),
        ("DELETE FROM metrics", r"the MLflow runs hold no metrics"),
        (
            "ALTER TABLE runs RENAME COLUMN start_time TO begun",
            r"cannot be read as an MLflow database \(no such column",
        ),
    ],
)
def test_a_database_that_is_no_store_is_refused_in_one_line(statement, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(change(mlflow_database(tmp_path / "mlflow.db"), statement), **TOLD)


def test_hostile_databases_are_refused(tmp_path, monkeypatch):
    file = mlflow_database(tmp_path / "mlflow.db")
    endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT 'a', i, 0, 'a', 0, 0 FROM n"
    change(file, "ALTER TABLE metrics RENAME TO others")
    change(file, f"CREATE VIEW metrics(key, value, timestamp, run_uuid, step, is_nan) AS {endless}")
    with pytest.raises(InputError, match="no table 'metrics'"):
        read(file, **TOLD)
    cut = mlflow_database(tmp_path / "cut.db")
    cut.write_bytes(cut.read_bytes()[:5000])
    with pytest.raises(InputError, match="cannot be read as an MLflow database"):
        read(cut, **TOLD)
    slow = mlflow_database(tmp_path / "slow.db")
    monkeypatch.setattr(mlflow_module, "_SECONDS", -1.0)
    monkeypatch.setattr(mlflow_module, "_STEPS", 1)
    with pytest.raises(InputError, match=r"cannot be read as an MLflow database \(interrupted\)"):
        read(slow, **TOLD)
    (tmp_path / "slow.db-wal").write_bytes(b"x")
    with pytest.raises(InputError, match="is open in another program"):
        read(slow, **TOLD)
