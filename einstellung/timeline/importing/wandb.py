"""Runs that W&B stored on disk (``run-ID.wandb``; extra ``wandb``): a log of records as in LevelDB, each a protocol buffer."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.importing.content import read_content, require_few_columns
from einstellung.timeline.importing.table import RawTable, merged
from einstellung.timeline.schema import Origin

_START = b":W&B"
_BLOCK, _HEADER = 32768, 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def read_wandb(files: Sequence[Path]) -> RawTable:
    """The history of every run, with its configuration as columns."""
    return merged([_run(file) for file in files])


def _run(file: Path) -> RawTable:
    try:
        from wandb.proto import wandb_internal_pb2
    except ImportError:
        raise InputError(f"{file}: reading W&B's own files needs wandb; pip install 'einstellung[wandb]'") from None
    from google.protobuf.message import DecodeError

    config: dict[str, Any] = {}
    name = ""
    rows: list[dict[str, Any]] = []
    try:
        for payload in records(file, read_content(file)[0]):
            record = wandb_internal_pb2.Record.FromString(payload)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                name = record.run.display_name or record.run.run_id
                config |= _items(record.run.config.update)
            elif kind == "config":
                config |= _items(record.config.update)
            elif kind == "history":
                rows.append(_items(record.history.item))
    except (DecodeError, ValueError) as error:
        raise InputError(f"{file} is not a W&B run: {error}") from None
    if not rows:
        raise InputError(f"{file} holds no history")
    columns = dict.fromkeys(key for row in rows for key in row)
    require_few_columns(file, len(columns))
    frame = pd.DataFrame({key: [row.get(key) for row in rows] for key in columns})
    for key, value in config.items():
        if key not in frame.columns:
            frame[key] = value
    steps = np.array([int(row.get("_step", number)) for number, row in enumerate(rows)])
    return RawTable(frame, Origin.of_file(str(file), steps, "step"), "W&B", True, ((name, file.stem),))


def _items(items: Any) -> dict[str, Any]:
    """Keys and plain values; media and nested objects are left out, as they are no measurements."""
    found = {}
    for item in items:
        value = json.loads(item.value_json)
        if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
            value = float(value)
        if not isinstance(value, dict | list):
            found[item.key or ".".join(item.nested_key)] = value
    return found


def records(file: Path, content: bytes) -> Iterator[bytes]:
    """The payloads of a log; one that was cut off at the end, as in a live run, is left out."""
    if content[:4] != _START or len(content) < _HEADER:
        raise InputError(f"{file} is not a W&B run")
    position = _HEADER
    parts: list[bytes] = []
    while position + _HEADER <= len(content):
        if _BLOCK - position % _BLOCK < _HEADER:  # the rest of a block is padding
            position += _BLOCK - position % _BLOCK
            continue
        checksum, length, kind = struct.unpack_from("<IHB", content, position)
        if (checksum, length, kind) == (0, 0, 0):
            return
        payload = content[position + _HEADER : position + _HEADER + length]
        if len(payload) < length:
            return
        if zlib.crc32(bytes([kind]) + payload) != checksum:
            raise InputError(f"{file} is broken at byte {position}: the checksum is wrong")
        position += _HEADER + length
        parts = [payload] if kind in (_WHOLE, _FIRST) else [*parts, payload]
        if kind in (_WHOLE, _LAST):
            yield b"".join(parts)
            parts = []
