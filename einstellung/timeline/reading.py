"""Read files and folders into one table whose rows remember their file and line."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.fork import from_fork, is_fork_layout
from einstellung.timeline.schema import COLUMNS, TEXT_COLUMNS, Origin, require_columns

PARQUET_SUFFIXES = (".parquet", ".pq")
OTHER_SEPARATORS = {";": '";"', "\t": "tabs", "|": '"|"'}


@dataclass(frozen=True)
class _CsvText:
    """A CSV file split after its header, with Unix line endings and a final newline."""

    path: Path
    header: tuple[str, ...]
    body: bytes

    @property
    def lines(self) -> int:
        return self.body.count(b"\n")


def timeline_files(paths: Iterable[Path | str]) -> list[Path]:
    """The files to read, each once: files as given, and the timelines in folders.

    A results folder (recognised by its ``config.yaml``) holds single runs below ``runs`` and a table merged from them: the runs
    are read, as the merged table may be older; the table is read if there are no runs. In any other folder ``timeline.csv`` (or
    ``timeline.parquet``) covers everything below it; without one, the subfolders are searched. Every ``timeline_*.csv`` or
    ``.parquet`` in a folder is read too. If a table exists as CSV and as Parquet, the CSV is read.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(f"{path} does not exist")
        here = _files_of_folder(path) if path.is_dir() else [path]
        if not here:
            raise InputError(f"{path} holds no timeline.csv, timeline_*.csv or .parquet of these names")
        for file in here:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _files_of_folder(folder: Path) -> list[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror or error}") from None
    tables: dict[str, Path] = {}
    for entry in entries:
        path = Path(entry.path)
        known = path.suffix in (".csv", *PARQUET_SUFFIXES) and (
            path.stem == "timeline" or path.stem.startswith("timeline_")
        )
        if known and entry.is_file():
            tables.setdefault(path.stem, path)  # '.csv' sorts before '.parquet'
    below = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]
    if any(entry.name == "config.yaml" for entry in entries):
        runs = [file for path in below if path.name == "runs" for file in _files_of_folder(path)]
        if runs:
            tables.pop("timeline", None)
            return [*tables.values(), *runs]
    if "timeline" in tables:
        return list(tables.values())
    return [*tables.values(), *(file for path in below for file in _files_of_folder(path))]


def read_tables(files: Sequence[Path]) -> tuple[pd.DataFrame, Origin]:
    """All rows of ``files`` in our layout and their origins; only missing columns are checked."""
    texts = [_csv_text(file) for file in files if file.suffix not in PARQUET_SUFFIXES]
    # files with the same header are parsed together: one call for a folder of a thousand runs
    alike: dict[tuple[str, ...], list[_CsvText]] = {}
    for text in texts:
        alike.setdefault(text.header, []).append(text)
    parts = [_parse(group) for group in alike.values()]
    parts += [_parquet(file) for file in files if file.suffix in PARQUET_SUFFIXES]
    parts = [(_in_our_layout(frame, origin), origin) for frame, origin in parts]
    return parts[0] if len(parts) == 1 else _merged(parts)


def _in_our_layout(frame: pd.DataFrame, origin: Origin) -> pd.DataFrame:
    if is_fork_layout(list(frame.columns)):
        return from_fork(frame, origin)
    require_columns(frame, COLUMNS, origin.files[0])
    return frame


def _merged(parts: list[tuple[pd.DataFrame, Origin]]) -> tuple[pd.DataFrame, Origin]:
    # categories of different files do not concatenate, and empty columns must not determine a dtype
    frames = [
        frame.astype({column: object for column in TEXT_COLUMNS if column in frame}).dropna(axis="columns", how="all")
        for frame, _ in parts
    ]
    columns = list(dict.fromkeys(column for frame, _ in parts for column in frame.columns))
    merged = pd.concat(frames, ignore_index=True).reindex(columns=columns)
    return merged, Origin.joined([origin for _, origin in parts])


def _csv_text(path: Path) -> _CsvText:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise InputError(f"{path} is not a CSV file: it holds binary data")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not content.strip():
        raise InputError(f"{path} is empty")
    if not content.endswith(b"\n"):
        content += b"\n"
    head, _, body = content.partition(b"\n")
    try:
        content.decode("utf-8")
        header = tuple(name.strip() for name in next(csv.reader([head.decode("utf-8")]), []))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file in UTF-8: {error}") from None
    if len(header) == 1:
        for separator, name in OTHER_SEPARATORS.items():
            if separator in header[0]:
                raise InputError(f"{path}: the columns are separated by {name}: save it with commas")
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InputError(f"{path}, line 1: column '{twice[0]}' appears twice")
    return _CsvText(path, header, body)


def _parse(texts: Sequence[_CsvText]) -> tuple[pd.DataFrame, Origin]:
    names = [name or f"unnamed {position}" for position, name in enumerate(texts[0].header)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(b"".join(text.body for text in texts)),
                header=None,
                names=names,
                index_col=False,
                dtype={column: "category" for column in TEXT_COLUMNS if column in names},
                skipinitialspace=True,
                skip_blank_lines=False,  # so that a row's position is its line
                keep_default_na=False,
                na_values=[""],
                float_precision="round_trip",
                low_memory=False,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
        return _parse_alone(texts, error)
    counts = np.array([text.lines for text in texts])
    if len(frame) != counts.sum() and len(texts) > 1:  # a quoted line break shifts all following files
        return _merged([_parse([text]) for text in texts])
    first = np.r_[0, np.cumsum(counts)[:-1]]
    file_of_row = np.repeat(np.arange(len(texts)), counts)[: len(frame)]
    line = np.arange(len(frame)) - first[file_of_row] + 2
    origin = Origin(tuple(str(text.path) for text in texts), file_of_row, line, ("line",) * len(texts))
    # an unnamed column is an index written by some tool, or a comma at the end of each line
    frame = frame.drop(columns=[name for name, given in zip(names, texts[0].header, strict=True) if not given])
    filled = frame.notna().any(axis="columns").to_numpy()
    empty = set(range(len(texts))) - set(np.unique(file_of_row[filled]).tolist())
    if empty:
        raise InputError(f"{texts[min(empty)].path} has a header but no rows")
    return (frame, origin) if filled.all() else (frame[filled].reset_index(drop=True), origin.keep(filled))


def _parse_alone(texts: Sequence[_CsvText], error: Exception) -> tuple[pd.DataFrame, Origin]:
    """Parse file by file, to find the file and line that cannot be parsed."""
    if len(texts) > 1:
        return _merged([_parse([text]) for text in texts])
    (text,) = texts
    if isinstance(error, pd.errors.EmptyDataError):
        raise InputError(f"{text.path} has a header but no rows") from None
    for number, fields in enumerate(csv.reader(text.body.decode("utf-8").splitlines()), start=2):
        if len(fields) > len(text.header):
            counts = f"{len(fields)} fields where the header names {len(text.header)}"
            raise InputError(f"{text.path}, line {number}: {counts}") from None
    raise InputError(f"{text.path} is not a CSV file: {error}") from None


def _parquet(path: Path) -> tuple[pd.DataFrame, Origin]:
    try:
        import pyarrow
    except ImportError:
        raise InputError(f"{path}: reading Parquet needs pyarrow; pip install 'einstellung[parquet]'") from None
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"cannot read {path} as Parquet: {error}") from None
    frame.columns = frame.columns.map(str)
    return frame.reset_index(drop=True), Origin.of_file(str(path), np.arange(1, len(frame) + 1), "row")
