"""The state of one study: its runs, which are finished, and how far those are that are running."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path
from typing import Any, Literal

from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.hashes import DamagedError, is_intact, read_sealed
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder, files_of
from einstellung.results.live_files import LIVE_TIMELINE, PROGRESS, SILENT_SECONDS
from einstellung.timeline import Run
from einstellung.view.plain_files import FileCache, is_folder, signature

RunState = Literal["waiting", "running", "stopped", "finished", "failed", "unreadable"]
StudyState = Literal["running", "stopped", "finished", "failed", "incomplete"]


@dataclass(frozen=True)
class RunStatus:
    """One run. ``file``: its measurements so far, where there are some; ``done``: the share of its work."""

    state: RunState
    file: Path | None = None
    done: float | None = None
    where: str = ""
    reason: str | None = None


@dataclass(frozen=True)
class Snapshot:
    """A study as it is at this moment. ``progress``: what its process says while it runs; ``silent``: for how many seconds it
    has said nothing; ``first_phases``: measurements of those that are being trained; ``version`` changes with every one."""

    path: Path
    config: StudyConfig | None
    runs: Mapping[Run, RunStatus] = field(default_factory=dict)
    progress: Mapping[str, Any] | None = None
    silent: float | None = None
    has_runs: bool = False
    first_phases: Mapping[Run, Path] = field(default_factory=dict)
    version: str = ""

    @property
    def running(self) -> bool:
        return self.progress is not None and (self.silent or 0.0) <= SILENT_SECONDS

    @property
    def moment(self) -> str:
        """What verdicts depend on: the measurements, and whether more will come."""
        return f"{self.version} {self.state}"

    @property
    def counts(self) -> Counter[str]:
        return Counter(run.state for run in self.runs.values())

    @property
    def state(self) -> StudyState:
        if self.progress is not None:
            return "running" if self.running else "stopped"
        counts = self.counts
        if counts["failed"] or counts["unreadable"]:
            return "failed"
        return "finished" if not self.has_runs or counts["finished"] == len(self.runs) else "incomplete"


class StudyReader:
    """Reads states; keeps in memory what did not change."""

    def __init__(self) -> None:
        self._configs = FileCache(lambda path: ResultsFolder(path.parent).config())
        self._json = FileCache(read_object)

    def config(self, path: Path) -> StudyConfig | None:
        """None for logs that were scored without a configuration."""
        found = self._configs.get(path / "config.yaml")
        return found if found is not None else self._configs.get(path / "study.json")

    def json(self, path: Path) -> dict[str, Any] | None:
        return self._json.get(path)

    def snapshot(self, path: Path, root: Path) -> Snapshot:
        """Raises InputError where the folder is damaged. Nothing outside ``root`` is read."""
        config = self.config(path)
        if config is None:
            if signature(path / "score.json") is None:
                raise InputError("config.yaml is missing")
            return Snapshot(path, None, version=str(signature(path / "score.json")))
        progress, silent = self._progress(path / PROGRESS)
        alive = progress is not None and (silent or 0.0) <= SILENT_SECONDS
        told = {job["folder"]: job for job in (progress or {}).get("jobs", []) if job.get("kind") == "run"}
        has_runs, runs = is_folder(path / "runs"), dict[Run, RunStatus]()
        for method in config.methods:
            for seed in config.seeds:
                name = f"{method}-seed{seed}"
                runs[method, seed] = self._run(path / "runs" / name, told.get(f"runs/{name}"), alive)
        first = _first_phases(path, root, (progress or {}).get("jobs", []))
        files = [run.file for run in runs.values() if run.file is not None]
        files += [*first.values(), path / "timeline.csv", path / "score.json"]
        version = digest([[str(file), signature(file)] for file in files])
        return Snapshot(path, config, runs, progress, silent, has_runs, first, version)

    def _progress(self, file: Path) -> tuple[dict[str, Any] | None, float | None]:
        found = signature(file)
        try:
            progress = self.json(file)
        except InputError:
            return None, None  # written by somebody else; the runs' own files say what is finished
        if found is None or progress is None or not _is_progress(progress):
            return None, None
        return progress, max(0.0, time.time() - found.changed / 1e9)

    def _run(self, folder: Path, job: Mapping[str, Any] | None, alive: bool) -> RunStatus:
        if not is_folder(folder):  # a link, or nothing
            return RunStatus("waiting")
        live = folder / LIVE_TIMELINE
        try:
            status = self.json(folder / "status.json")
        except InputError as error:
            return RunStatus("unreadable", reason=str(error))
        running = job is not None and job["state"] in ("waiting", "running")
        file = live if signature(live) is not None else None
        if status is not None and status.get("state") == "finished":
            whole = folder / "timeline.csv"
            if not running and not _is_intact(whole, files_of(status).get(whole.name)):
                return RunStatus("unreadable", reason=f"its {whole.name} is damaged")
            # progress.json follows a moment later; a run that lost a file is run again and has a live.csv
            if signature(whole) is not None and (file is None or not running):
                return RunStatus("finished", whole, 1.0)
            if not running:
                return RunStatus("unreadable", reason="its timeline.csv is missing")
        if job is not None and job["state"] == "running":
            return RunStatus("running" if alive else "stopped", file, job["done"], job["where"])
        if job is not None and job["state"] == "failed":  # its status.json follows when all jobs have ended
            return RunStatus("failed", file, reason=str(job.get("reason")))
        if status is not None and status.get("state") == "failed" and not running:
            return RunStatus("failed", file, reason=str(status.get("reason")))
        return RunStatus("stopped" if file is not None else "waiting", file)


def _first_phases(path: Path, root: Path, jobs: Sequence[Mapping[str, Any]]) -> dict[Run, Path]:
    """The measurements of first phases that are being trained; studies of a sweep share a folder beside theirs."""
    found: dict[Run, Path] = {}
    for job in jobs:
        if job["kind"] != "first_phase" or job["state"] != "running":
            continue
        folder = Path(normpath(path / job["folder"]))
        plain = folder.is_relative_to(root) and is_folder(folder.parent) and is_folder(folder)
        if plain and signature(folder / LIVE_TIMELINE) is not None:
            found[job["method"], job["seed"]] = folder / LIVE_TIMELINE
    return found


def read_object(path: Path) -> dict[str, Any]:
    try:
        return read_sealed(path)
    except DamagedError:
        raise DamagedError(f"{path.name} is damaged: its content does not match its hash") from None


def _is_intact(file: Path, facts: Mapping[str, Any] | None) -> bool:
    """Whether a file is what its run wrote; one that is missing is another matter."""
    try:
        return facts is None or is_intact(file, facts)
    except OSError:
        return True


def _is_progress(value: Mapping[str, Any]) -> bool:
    """Whether ``progress.json`` has the types that are relied on: it may be anybody's file."""
    jobs = value.get("jobs")
    texts = ("folder", "kind", "method", "label", "state", "where")
    return (
        isinstance(jobs, list)
        and all(isinstance(job, dict) for job in jobs)
        and all(isinstance(job.get(key), str) for job in jobs for key in texts)
        and all(_is_number(job.get("done")) and isinstance(job.get("seed"), int) for job in jobs)
        and _is_number(value.get("share"))
        and (value.get("seconds_left") is None or _is_number(value["seconds_left"]))
    )


def _is_number(value: Any) -> bool:
    """Whether a value is a number that JSON can write again: Python reads NaN and Infinity, too."""
    return isinstance(value, int | float) and -1e15 < value < 1e15
