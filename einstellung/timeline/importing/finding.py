"""Which files below a folder are logs, and of which format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from einstellung.errors import InputError
from einstellung.timeline.importing.mlflow import mlflow_runs
from einstellung.timeline.importing.mlflow_database import is_database

PARQUET_SUFFIXES = (".parquet", ".pq")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", *PARQUET_SUFFIXES)  # of two that are alike, the first is read
_PACKED = ("", ".gz", ".xz", ".bz2", ".zst")
_SUFFIXES = tuple(table + packed for table in _TABLES for packed in _PACKED)
TENSORBOARD, MLFLOW, WANDB = "tensorboard", "mlflow", "wandb"
TOOLS = {TENSORBOARD: "TensorBoard", MLFLOW: "MLflow", WANDB: "W&B"}


def timeline_files(paths: Iterable[Path | str], format: str | None = None) -> list[Path]:
    """The files to read, each once: files as given, and the logs in folders. A run of MLflow's is a folder.

    A results folder (recognised by its ``config.yaml``) holds single runs below ``runs`` and a table merged from them: the runs
    are read, as the merged table may be older; the table is read if there are no runs. In any other folder ``timeline.csv`` (or
    another format) covers everything below it; without one, the subfolders are searched. Every table with 'timeline' in its name
    is read. If a table exists in several formats, the first of CSV, TSV, JSON and Parquet is. A folder without timelines may hold
    the logs of one other tool. With ``format`` tensorboard, mlflow or wandb, folders are searched for these alone.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path} does not exist")
        here = _logs_of_folder(path, format) if path.is_dir() else [path]
        if not here:
            wanted = (
                f"no logs of {TOOLS[format]}"
                if format in TOOLS
                else "no timeline.csv, nor another table or log of runs"
            )
            raise InputError(f"{path} holds {wanted}: see docs/timeline.md, or name the files")
        for file in here:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def tool_of(path: Path) -> str | None:
    """The tool that a file or folder belongs to by its name; None for tables."""
    if path.is_dir():
        return MLFLOW
    if ".tfevents." in path.name:
        return TENSORBOARD
    if path.suffix == ".wandb":
        return WANDB
    return MLFLOW if is_database(path) else None


def _logs_of_folder(folder: Path, format: str | None) -> list[Path]:
    if format not in TOOLS:
        tables = _tables_of_folder(folder)
        if tables or format is not None:
            return tables
    by_tool = _tool_logs(folder)
    if format in TOOLS:
        return by_tool.get(format, [])
    if len(by_tool) > 1:
        names = " and ".join(TOOLS[tool] for tool in by_tool)
        raise InputError(f"{folder} holds logs of {names}: choose with --format {' or '.join(by_tool)}")
    return next(iter(by_tool.values()), [])


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror or error}") from None


def _below(entries: Iterable[os.DirEntry[str]]) -> list[Path]:
    return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]


def _tables_of_folder(folder: Path) -> list[Path]:
    entries = _entries(folder)
    ranked: dict[str, tuple[int, Path]] = {}
    for entry in entries:
        suffix = next((one for one in _SUFFIXES if entry.name.lower().endswith(one)), None)
        if suffix is None or "timeline" not in entry.name.lower() or entry.name[0] == "." or not entry.is_file():
            continue
        stem, rank = entry.name[: -len(suffix)], _SUFFIXES.index(suffix)
        ranked[stem] = min(ranked.get(stem, (rank, Path(entry.path))), (rank, Path(entry.path)))
    tables = {stem: path for stem, (_, path) in ranked.items()}
    below = _below(entries)
    if any(entry.name == "config.yaml" for entry in entries):
        runs = [file for path in below if path.name == "runs" for file in _tables_of_folder(path)]
        if runs:
            tables.pop("timeline", None)
            return [*tables.values(), *runs]
    if "timeline" in tables:
        return list(tables.values())
    return [*tables.values(), *(file for path in below for file in _tables_of_folder(path))]


def _tool_logs(folder: Path) -> dict[str, list[Path]]:
    """Logs of other tools below a folder, by tool."""
    if runs := mlflow_runs(folder):
        return {MLFLOW: runs}
    entries, found = _entries(folder), dict[str, list[Path]]()
    for entry in entries:
        path = Path(entry.path)
        if entry.is_file(follow_symlinks=False) and (tool := tool_of(path)) is not None:
            found.setdefault(tool, []).append(path)
    for path in _below(entries):
        for tool, files in _tool_logs(path).items():
            found.setdefault(tool, []).extend(files)
    return found
