"""A table as it was read, before its columns are understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from einstellung.timeline.schema import TEXT_COLUMNS, Origin


@dataclass(frozen=True)
class RawTable:
    """The rows of one or several files alike.

    ``events``: logged as single metrics, which makes the table wide whatever its columns are called. ``runs``: per file, names
    that may tell method and seed, the closest first.
    """

    frame: pd.DataFrame
    origin: Origin
    format: str
    events: bool = False
    runs: tuple[tuple[str, ...], ...] = ()


def merged(tables: Sequence[RawTable]) -> RawTable:
    """Tables of one format as one."""
    frame, origin = merged_frames([(table.frame, table.origin) for table in tables])
    runs = tuple(names for table in tables for names in table.runs)
    return RawTable(frame, origin, tables[0].format, tables[0].events, runs)


def merged_frames(parts: Sequence[tuple[pd.DataFrame, Origin]]) -> tuple[pd.DataFrame, Origin]:
    """Frames below each other, with the union of their columns."""
    if len(parts) == 1:
        return parts[0]
    # categories of different files do not concatenate, and empty columns must not determine a dtype
    frames = [
        frame.astype({column: object for column in TEXT_COLUMNS if column in frame}).dropna(axis="columns", how="all")
        for frame, _ in parts
    ]
    columns = list(dict.fromkeys(column for frame, _ in parts for column in frame.columns))
    whole = pd.concat(frames, ignore_index=True).reindex(columns=columns)
    return whole, Origin.joined([origin for _, origin in parts])
