"""What a results folder holds and what it lacks: whole runs, damaged files, runs that failed, runs that are planned and absent.

Whatever a report rests on is checked against the hash that was recorded when it was written. Weights, which no report reads, are
checked by their size alone where they are many.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.hashes import DamagedError, has_size, is_intact, is_verifiable
from einstellung.npz import read_npz
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder, files_of, read_status
from einstellung.timeline import Run, Timeline

_TIMELINE = "timeline.csv"
_WEIGHTS = ".safetensors"
_WEIGHTS_HASHED = 2**30  # bytes in all; of more, only sizes are compared
_SEEDS_LISTED = 8


@dataclass(frozen=True)
class Examination:
    """``finished``: the folders of runs whose measurements are whole. ``damaged`` and ``failed`` are sentences.

    ``left_out``: damaged files, and ``unverified``: files without a recorded hash, by their path below the results folder.
    """

    folder: ResultsFolder
    finished: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    left_out: frozenset[str] = field(default_factory=frozenset)
    unverified: tuple[str, ...] = ()
    planned: tuple[Run, ...] = ()
    known: frozenset[Run] = field(default_factory=frozenset)  # finished, or named in one of the sentences

    @property
    def absent(self) -> tuple[Run, ...]:
        """The runs that the configuration lists and of which there is nothing to report."""
        known = self.known if self.folder.has_runs or self.timeline is None else set(self.timeline.runs)
        return tuple(run for run in self.planned if run not in known)

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self.damaged, *self.failed, *absent_runs(self.absent))

    @property
    def timelines(self) -> list[Path]:
        """The timelines of all whole runs; of a folder without ``runs/``, the merged one."""
        if self.folder.has_runs:
            return [self.folder.path / "runs" / name / _TIMELINE for name in self.finished]
        return [self.folder.timeline_file] if self.folder.timeline_file.exists() else []

    @cached_property
    def timeline(self) -> Timeline | None:
        """The measurements of all whole runs."""
        return Timeline.read_many(self.timelines) if self.timelines else None

    def require_timeline(self) -> Timeline:
        if self.timeline is None:
            raise (DamagedError if self.damaged else InputError)(nothing_left(self.folder.path, self.damaged))
        return self.timeline


def nothing_left(path: Path, damaged: Sequence[str]) -> str:
    """Why a folder cannot be scored."""
    if not damaged:
        return f"{path} has no finished run yet"
    more = f" (and {len(damaged) - 1} more like it)" if len(damaged) > 1 else ""
    return f"{path} has no whole run left: {damaged[0]}{more}; the same 'einstellung run' makes it again"


def examine(folder: ResultsFolder) -> Examination:
    """Look at every run of a study; a file is hashed once by a process."""
    config: StudyConfig | None = None
    with suppress(InputError):
        config = folder.config()
    found = _own_files(folder)
    for name in _names(folder.path / "runs") if folder.has_runs else ():
        found.run(name)
    planned = () if config is None else tuple((method, seed) for method in config.methods for seed in config.seeds)
    return Examination(
        folder,
        tuple(found.finished),
        tuple(found.damaged),
        tuple(found.failed),
        frozenset(found.left_out),
        tuple(found.unverified),
        planned,
        frozenset(found.known),
    )


def damaged_lines(folder: ResultsFolder) -> list[str]:
    """A sentence for every damaged file of the study itself, without its runs."""
    return _own_files(folder).damaged


def _own_files(folder: ResultsFolder) -> _Findings:
    found = _Findings(folder.path)
    for file in folder.damaged_files():
        found.damage(file, _so_of_study(file, folder))
    if folder.provenance_file.exists() and folder.read_if_whole(folder.provenance_file) is None:
        found.damage(folder.provenance_file, _so_of_study(folder.provenance_file, folder))
    for file in folder.unverified_files():
        if file.suffix == ".npz" and not _is_readable(file):
            found.damage(file, _so_of_study(file, folder))
        else:
            found.unverified.append(file.name)
    return found


@dataclass(frozen=True)
class ExaminedLogs:
    """Log files that are whole, and what is said of the others; ``planned``: by the configurations of whole results folders."""

    files: tuple[Path, ...]
    damaged: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    planned: tuple[Run, ...] = ()


def examine_logs(files: Sequence[Path], given: Sequence[Path]) -> ExaminedLogs:
    """Check log files that are of results folders; ``given``: the files and folders that were asked for.

    A whole study may lack what its configuration lists. Logs of others have no hashes: they are taken as they are.
    """
    above = {file: _folder_of(file) for file in files}
    roots = [root for root in dict.fromkeys(above.values()) if root is not None and _is_study(root)]
    studies = {root: examine(ResultsFolder(root)) for root in roots}
    whole, damaged, unverified, planned = list[Path](), list[str](), list[str](), list[Run]()
    for root, study in studies.items():
        asked = any(path.is_dir() and root.is_relative_to(path) for path in given)
        lead = f"{root}/" if len(studies) > 1 else ""
        wanted = {file.relative_to(root).as_posix() for file in files if above[file] == root}
        wanted |= {f"runs/{Path(name).parts[1]}/status.json" for name in wanted if name.startswith("runs/")}
        about = [one for one in study.damaged if asked or one.split(" ", 1)[0] in wanted]
        damaged += [lead + one for one in about]
        unverified += [lead + name for name in study.unverified if asked or name in wanted]
        planned += study.planned if asked else ()
    for file in files:
        place = above[file]
        found = studies.get(place) if place is not None else None
        if found is None or not _is_left_out(file.relative_to(found.folder.path), found.left_out):
            whole.append(file)
    if damaged and not whole:
        raise DamagedError(nothing_left(given[0], damaged))
    return ExaminedLogs(tuple(whole), tuple(damaged), tuple(unverified), tuple(planned))


def _folder_of(file: Path) -> Path | None:
    """The results folder that a timeline would belong to."""
    if file.name != _TIMELINE:
        return None
    return file.parents[2] if len(file.parents) > 2 and file.parents[1].name == "runs" else file.parent


def _is_study(root: Path) -> bool:
    with suppress(InputError):
        return ResultsFolder(root).is_study and bool(ResultsFolder(root).config())
    return False


def _is_left_out(file: Path, left_out: frozenset[str]) -> bool:
    return not {file.as_posix(), (file.parent / "status.json").as_posix()}.isdisjoint(left_out)


def absent_runs(runs: Iterable[Run]) -> list[str]:
    """A sentence for every method with runs that a configuration lists and that are not there.

    >>> absent_runs([("sgd", 2), ("sgd", 3)])
    ['sgd has no finished run of seeds 2, 3, which the configuration lists']
    """
    lacking: dict[str, list[int]] = {}
    for method, seed in runs:
        lacking.setdefault(method, []).append(seed)
    return [
        f"{method} has no finished run of {_seeds(seeds)}, which the configuration lists"
        for method, seeds in lacking.items()
    ]


class _Findings:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.finished: list[str] = []
        self.damaged: list[str] = []
        self.failed: list[str] = []
        self.unverified: list[str] = []
        self.left_out: set[str] = set()
        self.known: set[Run] = set()  # finished, failed or damaged: there is a sentence of each that is not finished
        self._weights = 0

    def damage(self, file: Path, so: str) -> None:
        where = file.relative_to(self.root).as_posix()
        self.damaged.append(f"{where} is damaged: {so}")
        self.left_out.add(where)

    def run(self, name: str) -> None:
        folder = self.root / "runs" / name
        try:
            status = read_status(folder)
        except InputError:
            self.damage(folder / "status.json", f"{name} is left out")
            self._know(name)
            return
        if status is None:
            return
        if status.get("state") == "failed":
            self.failed.append(f"{name} failed: {status.get('reason')}")
            self._know(name)
        elif status.get("state") == "finished":
            self._know(name)
            self._finished(name, folder, files_of(status))

    def _finished(self, name: str, folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
        whole = (folder / _TIMELINE).is_file()
        if not whole:
            where = (folder / _TIMELINE).relative_to(self.root).as_posix()
            self.damaged.append(f"{where} is missing: {name} is left out")
        elif _TIMELINE not in files:
            self.unverified.append(f"runs/{name}/{_TIMELINE}")
        for file, facts in files.items():
            path = folder / file
            try:
                if self._is_intact(path, facts):
                    if not is_verifiable(facts):
                        self.unverified.append(f"runs/{name}/{file}")
                    continue
            except FileNotFoundError:
                continue  # whoever needs it says so
            except OSError:
                pass
            self.damage(path, _so_of_run(name, file))
            whole = whole and file != _TIMELINE
        if whole:
            self.finished.append(name)

    def _is_intact(self, path: Path, facts: Mapping[str, Any]) -> bool:
        if path.suffix == _WEIGHTS:
            self._weights += path.stat().st_size
            if self._weights > _WEIGHTS_HASHED:
                return has_size(path, facts)
        return is_intact(path, facts)

    def _know(self, name: str) -> None:
        method, _, seed = name.rpartition("-seed")
        if seed.isdecimal():
            self.known.add((method, int(seed)))


def _so_of_run(name: str, file: str) -> str:
    if file == _TIMELINE:
        return f"{name} is left out"
    if file.endswith(_WEIGHTS):
        return "its measurements do not rest on it; the same 'einstellung run' makes it again"
    return f"what is computed from it leaves {name} out"


def _so_of_study(file: Path, folder: ResultsFolder) -> str:
    if file == folder.config_file:
        return f"the configuration in {folder.record_file.name} is used, and the same 'einstellung run' writes it again"
    if file == folder.record_file:
        return "the files of the study cannot be verified; the same 'einstellung run' writes it again"
    return "it is left out, and made again by the same 'einstellung run'"


def _is_readable(archive: Path) -> bool:
    try:
        return bool(read_npz(archive))
    except InputError:
        return False


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir())


def _seeds(seeds: Sequence[int]) -> str:
    listed = ", ".join(map(str, seeds[:_SEEDS_LISTED]))
    more = f" and {len(seeds) - _SEEDS_LISTED} more" if len(seeds) > _SEEDS_LISTED else ""
    return f"seed {listed}" if len(seeds) == 1 else f"seeds {listed}{more}"
