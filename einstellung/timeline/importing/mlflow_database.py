"""MLflow's SQLite store (``mlflow.db``), read without MLflow by Python's own sqlite3, which never writes to it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from einstellung.errors import InputError
from einstellung.foreign_files import open_regular
from einstellung.timeline.importing.content import require_regular_file

_MAGIC = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
_TABLES = ("experiments", "runs", "metrics", "params", "tags")
_SECONDS = 60.0  # of computing for one database; a hostile one may never end
_STEPS = 100_000  # of SQLite's machine between two looks at the clock

Event = tuple[str, int, float, float]  # metric, step, time, value


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    with open_regular(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def database_runs(path: Path) -> Iterator[tuple[str, str, dict[str, str], list[Event]]]:
    """Identity, name, parameters with tags, and metrics of every run; deleted runs and experiments are left out."""
    require_regular_file(path)
    if path.with_name(f"{path.name}-wal").exists():
        raise InputError(f"{path} is open in another program ({path.name}-wal exists): end it, then read the database")
    try:
        # immutable: no lock and no other file is made next to it
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)) as database:
            _bound(database)
            _require_store(path, database)
            yield from _runs(path, database)
    except (sqlite3.Error, OverflowError) as error:
        raise InputError(f"{path} cannot be read as an MLflow database ({error})") from None


def _bound(database: sqlite3.Connection) -> None:
    ends = time.process_time() + _SECONDS
    database.set_progress_handler(lambda: time.process_time() > ends, _STEPS)
    database.execute("PRAGMA trusted_schema = OFF")


def _require_store(path: Path, database: sqlite3.Connection) -> None:
    """Plain tables only: a view or a virtual table can compute anything."""
    known = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    for name in _TABLES:
        if not str(known.get(name) or "").lstrip().upper().startswith("CREATE TABLE"):
            raise InputError(
                f"{path} is a database, but not one of MLflow's: it has no table '{name}'; give an MLflow store, or export "
                "the metrics as a table"
            )


def _runs(path: Path, database: sqlite3.Connection) -> Iterator[tuple[str, str, dict[str, str], list[Event]]]:
    rows = database.execute(
        "SELECT runs.run_uuid, runs.name FROM runs JOIN experiments USING (experiment_id) "
        "WHERE runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active' "
        "ORDER BY runs.start_time, runs.run_uuid"
    ).fetchall()
    for run, name in rows:
        facts: dict[str, str] = {}
        for table in ("params", "tags"):
            own = database.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ? ORDER BY key", (run,))
            facts |= {str(key): str(value) for key, value in own if key != "mlflow.note.content"}
        yield str(run), str(name or facts.get("mlflow.runName") or ""), facts, list(_metrics(path, database, run))


def _metrics(path: Path, database: sqlite3.Connection, run: Any) -> Iterator[Event]:
    rows = database.execute(
        "SELECT key, step, timestamp, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY key, step, timestamp",
        (run,),
    )
    for key, step, when, value, is_nan in rows:
        try:
            yield str(key), int(step), float(when), float("nan") if is_nan else float(value)
        except (TypeError, ValueError):
            raise InputError(f"{path}: run {run} has a value of '{key}' that is not a number") from None
