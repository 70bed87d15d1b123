"""Read files and folders into one table whose rows remember their file and line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from einstellung.timeline.importing.content import read_content
from einstellung.timeline.importing.delimited import DelimitedText, delimited_text, parse
from einstellung.timeline.importing.finding import MLFLOW, PARQUET_SUFFIXES, TENSORBOARD, WANDB, timeline_files, tool_of
from einstellung.timeline.importing.json_tables import read_json_table
from einstellung.timeline.importing.layout import Understood, in_our_layout
from einstellung.timeline.importing.mlflow import read_mlflow
from einstellung.timeline.importing.options import ImportOptions
from einstellung.timeline.importing.parquet import read_parquet
from einstellung.timeline.importing.runs import names_above
from einstellung.timeline.importing.table import RawTable, merged_frames
from einstellung.timeline.importing.tensorboard import read_tensorboard
from einstellung.timeline.importing.wandb import read_wandb
from einstellung.timeline.schema import Origin

__all__ = ["read_logs", "timeline_files"]

_TABS = (".tsv", ".tab")
_LINES = (".jsonl", ".ndjson")
_TOOL_READERS = {TENSORBOARD: read_tensorboard, MLFLOW: read_mlflow, WANDB: read_wandb}


def read_logs(
    files: Sequence[Path], options: ImportOptions | None = None
) -> tuple[pd.DataFrame, Origin, list[Understood]]:
    """All rows of ``files`` in our layout, their origins, and what was understood; only missing columns are checked."""
    options = options or ImportOptions()
    parts = [in_our_layout(table, options) for table in _raw_tables(files, options.format)]
    frame, origin = merged_frames([(frame, origin) for frame, origin, _ in parts])
    return frame, origin, [understood for *_, understood in parts]


def _raw_tables(files: Sequence[Path], format: str | None) -> list[RawTable]:
    alike: dict[tuple[str, str, tuple[str, ...]], list[DelimitedText]] = {}
    of_tool: dict[str, list[Path]] = {}
    tables = []
    for file in files:
        tool = format if format in _TOOL_READERS else tool_of(file) if format is None else None
        if tool is not None:
            of_tool.setdefault(tool, []).append(file)
        elif format == "parquet" or (format is None and _is_parquet(file)):
            tables.append(RawTable(*read_parquet(file), "Parquet", runs=(names_above(file),)))
        else:
            content, packing = read_content(file)
            suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
            if _is_json(content, suffixes, format):
                lines = True if format == "jsonl" or set(suffixes) & set(_LINES) else None
                frame, origin, form = read_json_table(file, content, lines)
                tables.append(RawTable(frame, origin, _named(form, packing), runs=(names_above(file),)))
            else:
                tabs = format == "tsv" or (format is None and bool(set(suffixes) & set(_TABS)))
                text = delimited_text(file, content, "\t" if tabs else ",")
                form = _named("TSV" if tabs else "CSV", packing)
                alike.setdefault((form, text.separator, text.header), []).append(text)
    for (form, *_), texts in alike.items():
        tables.append(RawTable(*parse(texts), form, runs=tuple(names_above(text.path) for text in texts)))
    return [*tables, *(_TOOL_READERS[tool](own) for tool, own in of_tool.items())]


def _named(form: str, packing: str | None) -> str:
    return form if packing is None else f"{form} ({packing})"


def _is_parquet(file: Path) -> bool:
    return file.suffix.lower() in PARQUET_SUFFIXES


def _is_json(content: bytes, suffixes: Sequence[str], format: str | None) -> bool:
    if format is not None:
        return format in ("json", "jsonl")
    return bool({".json", *_LINES} & set(suffixes)) or content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (
        b"{",
        b"[",
    )
