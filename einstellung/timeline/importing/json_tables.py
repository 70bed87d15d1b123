"""JSON (a list of records, or columns) and JSON lines (a record a line)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.content import require_few_columns
from einstellung.timeline.schema import IntArray, Origin

FORMS = "a list of records, an object of columns, or one record a line"


def read_json_table(path: Path, content: bytes, lines: bool | None = None) -> tuple[pd.DataFrame, Origin, str]:
    """The rows of a JSON file and the name of its form; ``lines``: whether it has a record a line (None: see)."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not JSON in UTF-8: {error}") from None
    if not text.strip():
        raise InputError(f"{path} is empty")
    if lines or (lines is None and _has_record_per_line(text)):
        rows = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        records = [_parsed(f"{path}, line {number}", line) for number, line in rows]
        numbers = np.array([number for number, _ in rows])
        return *_from_records(path, records, numbers, "line"), "JSON lines"
    value = _parsed(str(path), text)
    if isinstance(value, dict) and set(value) >= {"columns", "data"}:  # pandas' orient="split"
        value = _from_split(path, value)
    if isinstance(value, dict):
        return *_from_columns(path, value), "JSON"
    if not isinstance(value, list):
        raise InputError(f"{path} is JSON, but no table: give {FORMS}")
    return *_from_records(path, value, np.arange(1, len(value) + 1), "record"), "JSON"


def _has_record_per_line(text: str) -> bool:
    """Whether the first line is a record by itself and another one follows."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid JSON: {error}") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(name for name in names if names.count(name) > 1)}' appears twice")
    return found


def _from_records(path: Path, records: Sequence[Any], numbers: IntArray, unit: str) -> tuple[pd.DataFrame, Origin]:
    if not records:
        raise InputError(f"{path} holds no records")
    for number, record in zip(numbers, records, strict=True):
        if not isinstance(record, dict):
            raise InputError(f"{path}, {unit} {number}: is not an object with a value for each column")
    columns = dict.fromkeys(name for record in records for name in record)
    require_few_columns(path, len(columns))
    origin = Origin.of_file(str(path), numbers, unit)
    return _frame({name: [record.get(name) for record in records] for name in columns}, origin), origin


def _from_columns(path: Path, value: Mapping[str, Any]) -> tuple[pd.DataFrame, Origin]:
    """``{"acc": [..], ...}``, or pandas' own ``{"acc": {"0": .., "1": ..}, ...}``."""
    require_few_columns(path, len(value))
    if value and all(isinstance(column, dict) for column in value.values()):
        rows = list(dict.fromkeys(row for column in value.values() for row in column))
        value = {name: [column.get(row) for row in rows] for name, column in value.items()}
    wrong = next((name for name, column in value.items() if not isinstance(column, list)), None)
    if wrong is not None:
        raise InputError(f"{path} is JSON, but '{wrong}' is not a column: give {FORMS}")
    lengths = {len(column) for column in value.values()}
    if lengths in (set(), {0}):
        raise InputError(f"{path} holds no rows")
    if len(lengths) > 1:
        raise InputError(f"{path}: columns have {min(lengths)} to {max(lengths)} values; all need the same number")
    origin = Origin.of_file(str(path), np.arange(1, lengths.pop() + 1), "row")
    return _frame(dict(value), origin), origin


def _from_split(path: Path, value: Mapping[str, Any]) -> list[dict[str, Any]]:
    names, data = value["columns"], value["data"]
    if not isinstance(names, list) or not isinstance(data, list):
        raise InputError(f"{path} is JSON, but no table: give {FORMS}")
    for number, row in enumerate(data, start=1):
        if not isinstance(row, list) or len(row) != len(names):
            raise InputError(f"{path}, record {number}: {len(names)} values are needed, one for each column")
    return [dict(zip(map(str, names), row, strict=True)) for row in data]


def _frame(columns: dict[str, list[Any]], origin: Origin) -> pd.DataFrame:
    for name, values in columns.items():
        for row, value in enumerate(values):
            if isinstance(value, dict | list):
                raise InputError(f"{origin.at(row)}, column '{name}': holds a {type(value).__name__}, not a value")
    return pd.DataFrame({name.strip(): _column(values) for name, values in columns.items()})


def _column(values: list[Any]) -> pd.Series[Any]:
    """Numbers as numbers where all are; whatever else stays what it is, for the schema to judge."""
    if any(isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63 for value in values):
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype=object).infer_objects()
