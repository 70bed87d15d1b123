"""The measurements of a study, finished runs and running ones, read anew only where files changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from einstellung.errors import InputError
from einstellung.timeline import Run, Timeline
from einstellung.timeline.schema import order_of_phases
from einstellung.view.plain_files import FileCache, Signature, signature
from einstellung.view.study import Snapshot

_FEW_RUNS = 60  # single seeds are sent along with means up to here


@dataclass(frozen=True)
class Measured:
    """Rows of finished runs together, rows of the others run by run, and a sentence for every file that cannot be read.

    ``first_phases``: rows of first phases that are being trained, whose runs have not begun.
    """

    finished: pd.DataFrame | None
    unfinished: Mapping[Run, pd.DataFrame]
    first_phases: Mapping[Run, pd.DataFrame]
    problems: tuple[str, ...]

    @property
    def together(self) -> pd.DataFrame | None:
        """All rows; a first phase is named as such, as the runs that start from it may be of other methods."""
        first = [frame.assign(method=f"{method} (first phase)") for (method, _), frame in self.first_phases.items()]
        parts = [frame for frame in (self.finished, *self.unfinished.values(), *first) if frame is not None]
        return pd.concat(parts, ignore_index=True) if parts else None


class StudyMeasurements:
    """The measurements of one study. Not thread-safe: its owner holds a lock."""

    def __init__(self) -> None:
        self._files: dict[Path, Signature] = {}
        self._frame: pd.DataFrame | None = None
        self._problems: dict[Path, str] = {}
        self._unfinished = FileCache(lambda path: Timeline.read(path).frame)

    def read(self, snapshot: Snapshot) -> Measured:
        files = [run.file for run in snapshot.runs.values() if run.state == "finished" and run.file is not None]
        if not snapshot.has_runs:
            files = [snapshot.path / "timeline.csv"]
        self._update({file: found for file in files if (found := signature(file)) is not None})
        problems = list(self._problems.values())
        begun = {
            run: one.file for run, one in snapshot.runs.items() if one.state != "finished" and one.file is not None
        }
        return Measured(
            self._frame,
            self._read_each(begun, problems),
            self._read_each(snapshot.first_phases, problems),
            tuple(problems),
        )

    def _read_each(self, files: Mapping[Run, Path], problems: list[str]) -> dict[Run, pd.DataFrame]:
        found = {}
        for run, file in files.items():
            try:
                frame = self._unfinished.get(file)
            except InputError as error:
                problems.append(str(error))
                continue
            if frame is not None:
                found[run] = frame
        return found

    def _update(self, files: Mapping[Path, Signature]) -> None:
        """Read files that are new; all of them again if one that was read changed or went."""
        if any(files.get(path) != found for path, found in self._files.items()):
            self._files, self._frame, self._problems = {}, None, {}
        new = [path for path in files if path not in self._files]
        if not new:
            return
        frames = [self._frame] if self._frame is not None else []
        frames += self._read(new)
        self._frame = pd.concat(frames, ignore_index=True) if frames else None
        self._files = dict(files)

    def _read(self, paths: Sequence[Path]) -> list[pd.DataFrame]:
        """The tables of these files: all at once, which is fast, or one by one to leave out those that are damaged."""
        try:
            return [Timeline.read_many(paths).frame]
        except InputError:
            frames = []
            for path in paths:
                try:
                    frames.append(Timeline.read(path).frame)
                except InputError as error:
                    self._problems[path] = str(error)
            return frames


def curves(frame: pd.DataFrame, phase: str, splits: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """By split, the accuracy of every method by epoch: mean, lowest, highest and number of seeds; of few runs, each seed too."""
    rows = frame[(frame["phase"] == phase) & frame["split"].isin(splits)].sort_values("epoch", kind="stable")
    found: dict[str, dict[str, dict[str, Any]]] = {split: {} for split in splits}
    by_epoch = rows.groupby(["split", "method", "epoch"])["acc"].agg(["mean", "min", "max", "count"]).round(6)
    for place, own in by_epoch.groupby(level=["split", "method"]):
        split, method = cast("tuple[str, str]", place)
        found[split][method] = {
            "method": method,
            "epochs": own.index.get_level_values("epoch").tolist(),
            "mean": own["mean"].tolist(),
            "low": own["min"].tolist(),
            "high": own["max"].tolist(),
            "n": own["count"].tolist(),
        }
    if len(rows[["method", "seed"]].drop_duplicates()) <= _FEW_RUNS:
        for place, run in rows.groupby(["split", "method", "seed"]):
            split, method, seed = cast("tuple[str, str, int]", place)
            one = {"seed": int(seed), "epochs": run["epoch"].tolist(), "acc": run["acc"].round(6).tolist()}
            found[split][method].setdefault("seeds", []).append(one)
    return {split: list(by_method.values()) for split, by_method in found.items()}


def phases_of(frame: pd.DataFrame) -> list[str]:
    """The phases that were measured, in order."""
    return order_of_phases(frame)
