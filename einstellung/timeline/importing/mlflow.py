"""MLflow's stores, read without MLflow: ``mlruns`` has a folder per run, with a text file per metric and parameter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from einstellung.errors import InputError
from einstellung.foreign_files import read_text
from einstellung.timeline.importing.content import MOST_BYTES
from einstellung.timeline.importing.events import wide_table
from einstellung.timeline.importing.mlflow_database import database_runs
from einstellung.timeline.importing.table import RawTable
from einstellung.timeline.schema import Origin
from einstellung.yaml_text import parse_yaml

_LARGEST_FACT = 2**20


def mlflow_runs(folder: Path) -> list[Path]:
    """The folders of runs in a store, an experiment or a run; empty if it is none of them."""
    if _is_run(folder):
        return [folder]
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink() and path.name[0] != ".")
    if (folder / "meta.yaml").is_file():
        return [path for path in below if _is_run(path)]
    return [run for path in below if (path / "meta.yaml").is_file() and not _is_run(path) for run in mlflow_runs(path)]


def _is_run(folder: Path) -> bool:
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()


def read_mlflow(places: Sequence[Path]) -> RawTable:
    """The metrics of runs, with their parameters as columns, from folders of runs or databases; deleted runs are left out."""
    events: list[tuple[str, str, int, float, float]] = []
    facts: dict[str, dict[str, Any]] = {}
    for folder in [place for place in places if place.is_dir()]:
        meta = _meta(folder / "meta.yaml")
        if meta.get("lifecycle_stage", "active") == "deleted":
            continue
        facts[str(folder)] = {**_facts(folder / "params"), **_facts(folder / "tags")}
        name = meta.get("run_name") or facts[str(folder)].get("mlflow.runName")
        facts[str(folder)]["mlflow.runName"] = name
        events += [(str(folder), *event) for event in _metrics(folder / "metrics")]
    for database in [place for place in places if not place.is_dir()]:
        for identity, name, own, measured in database_runs(database):
            run = f"{database}/{identity}"
            facts[run] = {**own, "mlflow.runName": name}
            events += [(run, *event) for event in measured]
    store = str(places[0].parent if places[0].is_dir() else places[0])
    if not events:
        raise InputError(f"{store}: the MLflow runs hold no metrics")
    frame = wide_table(events, store).rename(columns={"run": "folder"})
    runs = list(dict.fromkeys(frame["folder"]))
    of_row = np.array([runs.index(run) for run in frame["folder"]])
    origin = Origin(tuple(runs), of_row, frame["step"].to_numpy(dtype=np.int64), ("step",) * len(runs))
    for key in dict.fromkeys(key for own in facts.values() for key in own if not key.startswith("mlflow.")):
        if key not in frame.columns:
            frame[key] = [facts[run].get(key) for run in frame["folder"]]
    names = tuple((str(facts[run]["mlflow.runName"] or ""), Path(run).name) for run in runs)
    return RawTable(frame.drop(columns="folder"), origin, "MLflow", True, names)


def _meta(file: Path) -> dict[str, Any]:
    content = parse_yaml(_text(file), str(file))
    if not isinstance(content, dict):
        raise InputError(f"{file} does not describe an MLflow run")
    return content


def _text(file: Path, limit: int | None = _LARGEST_FACT) -> str:
    return read_text(file, MOST_BYTES if limit is None else limit)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files below a folder with their names: MLflow makes folders of the slashes in a name."""
    for place, below, names in os.walk(folder):
        below.sort()
        for name in sorted(names):
            file = Path(place) / name
            yield file.relative_to(folder).as_posix(), file


def _facts(folder: Path) -> dict[str, str]:
    return {name: _text(file).strip() for name, file in _files(folder) if name != "mlflow.note.content"}


def _metrics(folder: Path) -> Iterator[tuple[str, int, float, float]]:
    for name, file in _files(folder):
        for number, line in enumerate(_text(file, None).splitlines(), start=1):
            parts = line.split()
            if not parts:
                continue
            try:
                time, value, step = float(parts[0]), float(parts[1]), int(parts[2]) if len(parts) > 2 else 0
            except (ValueError, IndexError):
                raise InputError(f"{file}, line {number}: write 'timestamp value step', as MLflow does") from None
            yield name, step, time, value
