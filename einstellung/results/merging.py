"""One ``timeline.csv`` over all runs of a study. What it held of runs whose folders are gone stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd

from einstellung.errors import InputError
from einstellung.files import write_atomically
from einstellung.results.examination import Examination, examine
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline

_RUN_COLUMNS = b"method,seed,"


def merge_timelines(folder: ResultsFolder) -> Timeline | None:
    """Write one ``timeline.csv`` over all whole runs, and return their measurements; without ``runs/``, read the existing one."""
    found = examine(folder)
    write_merged(found)
    return found.timeline


def write_merged(found: Examination) -> None:
    """Write the rows of all whole runs and, of other runs, those that are there already; sorted by the runs' folders.

    Files with the same header are joined as they are: a table of 10,000 runs need not fit into memory.
    """
    target = found.folder.timeline_file
    if not found.folder.has_runs or not found.finished:
        return
    kept = {} if target.name in found.left_out else _rows_of_others(target, set(found.finished))
    header = next(filter(None, map(_header, [*found.timelines[:1]])), b"")
    alike = header.startswith(_RUN_COLUMNS) and all(_header(file) == header for file in found.timelines)
    if alike and (not kept or _header(target) == header):
        files = dict(zip(found.finished, found.timelines, strict=True))
        write_atomically(target, lambda temporary: _join(temporary, header, files, kept))
    else:
        _together(found, target, kept).write(target)
    found.folder.record_timeline()


def _join(target: Path, header: bytes, files: dict[str, Path], kept: dict[str, list[bytes]]) -> None:
    with target.open("wb") as stream:
        stream.write(header)
        for name in sorted({*files, *kept}):
            rows = _rows(files[name]) if name in files else iter(kept[name])
            stream.writelines(rows)


def _rows(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        stream.readline()
        last = b"\n"
        for last in stream:
            yield last
        if not last.endswith(b"\n"):
            yield b"\n"


def _rows_of_others(file: Path, own: set[str]) -> dict[str, list[bytes]]:
    """Of a merged table of ours, the rows of runs that have no whole folder, by the name that it would have."""
    found: dict[str, list[bytes]] = {}
    if not _header(file).startswith(_RUN_COLUMNS):
        return found
    for row in _rows(file):
        method, _, rest = row.partition(b",")
        name = f"{method.decode('utf-8', 'replace')}-seed{rest.partition(b',')[0].decode('utf-8', 'replace')}"
        if name not in own and row.strip():
            found.setdefault(name, []).append(row)
    return found


def _header(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.readline()
    except OSError:
        return b""


def _together(found: Examination, target: Path, kept: dict[str, list[bytes]]) -> Timeline:
    """The same by parsing, for tables with different columns."""
    timeline = found.require_timeline()
    if not kept:
        return timeline
    with suppress(InputError):
        old = Timeline.read(target).frame
        names = old["method"] + "-seed" + old["seed"].astype(str)
        frame = pd.concat([timeline.frame, old[names.isin(list(kept))]], ignore_index=True)
        order = (frame["method"] + "-seed" + frame["seed"].astype(str)).argsort(kind="stable")
        return Timeline(frame.iloc[order].reset_index(drop=True))
    return timeline
