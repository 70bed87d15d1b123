"""From a table as it was read to the rows of a timeline: our layout, the public fork's, or a wide one."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline.fork import from_fork, is_fork_layout
from einstellung.timeline.importing.options import ImportOptions
from einstellung.timeline.importing.table import RawTable
from einstellung.timeline.importing.wide import from_wide
from einstellung.timeline.schema import COLUMNS, OPTIONAL_COLUMNS, REQUIRED_COLUMNS, Origin, require_columns


@dataclass(frozen=True)
class Understood:
    """What was understood of files that are alike."""

    files: tuple[str, ...]
    format: str
    layout: str
    used: tuple[str, ...]
    ignored: tuple[str, ...]
    rows: int


def in_our_layout(table: RawTable, options: ImportOptions) -> tuple[pd.DataFrame, Origin, Understood]:
    """The rows in our layout, their origin, and what was understood; only missing columns are checked."""
    frame, origin, used = table.frame, table.origin, list(table.frame.columns)
    ignored: list[str] = []
    frame = _renamed(frame, options, origin)
    if table.events or options.is_wide:
        layout = "wide"
        table = RawTable(frame, origin, table.format, table.events, table.runs)
        frame, origin, used, ignored = from_wide(table, options)
    elif is_fork_layout(list(frame.columns)):
        layout, frame = "public Mammoth fork", from_fork(frame, origin)
    else:
        layout, frame = "tidy", _with_constants(frame, options, origin)
        require_columns(frame, REQUIRED_COLUMNS, origin.files[0] or origin.name, in_python=not any(origin.files))
        ignored = [column for column in frame.columns if column not in (*COLUMNS, *OPTIONAL_COLUMNS)]
        used = [column for column in used if column not in ignored]
    return frame, origin, Understood(origin.files, table.format, layout, tuple(used), tuple(ignored), len(frame))


def _renamed(frame: pd.DataFrame, options: ImportOptions, origin: Origin) -> pd.DataFrame:
    names = {theirs: ours for theirs, ours in options.renamed().items() if theirs in frame.columns and theirs != ours}
    for theirs, ours in names.items():
        if ours in frame.columns and ours not in names:
            raise InputError(
                f"{origin.files[0] or origin.name}: '{theirs}' is mapped to '{ours}', and there is a column '{ours}' already"
            )
    if len(set(names.values())) < len(names):
        raise InputError(
            f"{origin.files[0] or origin.name}: two columns are mapped to the same one: {', '.join(names)}"
        )
    return frame.rename(columns=names)


def _with_constants(frame: pd.DataFrame, options: ImportOptions, origin: Origin) -> pd.DataFrame:
    constants = options.constants()
    for name in constants:
        if name in frame.columns:
            raise InputError(f"{origin.files[0] or origin.name} has a column '{name}' already: leave out --{name}")
    return frame.assign(**constants)
