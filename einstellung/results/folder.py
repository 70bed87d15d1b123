"""A results folder: its files, its lock, and which of its runs are finished. No torch in here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from einstellung.errors import InputError
from einstellung.files import is_leftover, remove_leftovers, write_bytes
from einstellung.folders import never_recreated
from einstellung.hashes import DamagedError, fingerprint, fingerprint_of, is_intact, read_sealed, write_sealed
from einstellung.results.config import FORMAT, StudyConfig, build_config, to_yaml
from einstellung.results.live_files import LIVE_TIMELINE
from einstellung.yaml_text import read_yaml

TRACE = "error.txt"  # the traceback of a run that failed, as Python prints it
CHECKPOINT = "checkpoint.safetensors"
LOCK = ".lock"
Log = Callable[[str], None]
_WRITTEN_BY_REPORTS = ("figures", "tables", "probes")
_SHAPING = ("stream", "cue", "cover", "backbone", "training", "evaluation", "attention")


@dataclass(frozen=True)
class ResultsFolder:
    """``config.yaml``, ``proof.json``, ``provenance.json``, ``samples.npz``, ``sources.csv``, ``first_phases/``, ``runs/``.

    ``study.json`` holds the configuration again, and the hashes of the study's own files: a damaged ``config.yaml`` is noticed,
    and can be made again.
    """

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    @property
    def record_file(self) -> Path:
        return self.path / "study.json"

    @property
    def proof_file(self) -> Path:
        return self.path / "proof.json"

    @property
    def provenance_file(self) -> Path:
        return self.path / "provenance.json"

    @property
    def samples_file(self) -> Path:
        return self.path / "samples.npz"

    @property
    def sources_file(self) -> Path:
        return self.path / "sources.csv"

    @property
    def timeline_file(self) -> Path:
        return self.path / "timeline.csv"

    @property
    def has_runs(self) -> bool:
        """Whether single runs are kept; otherwise ``timeline.csv`` is all there is."""
        return (self.path / "runs").exists()

    @property
    def data_file(self) -> Path:
        """A copy of images that were given as arrays, for workers and for a later resume."""
        return self.path / "data.npz"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Lock the folder before anything in it is read; a second process is refused at once.

        The system frees the lock of a process that dies. What killed processes left half-written is deleted. Where a command is
        refused, a folder that is not a study's is left as it was.
        """
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; choose a folder for --out")
        created = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        lock_file = self.path / LOCK
        is_new = not lock_file.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(lock_file)
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(
                f"{self.path} is in use by another einstellung process; wait until it ends or choose another --out"
            ) from None
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error.strerror or error}; choose another --out") from None
        try:
            for name in ("", *_WRITTEN_BY_REPORTS):
                remove_leftovers(self.path / name)
            with never_recreated(self.path):
                yield
        finally:
            if is_new and not self._is_begun():
                lock_file.unlink(missing_ok=True)
                with suppress(OSError):  # it holds other files
                    for folder in created:
                        folder.rmdir()
            lock.release()

    def _is_begun(self) -> bool:
        """Whether there is anything of a study, a sweep or a family."""
        names = ("config.yaml", "study.json", "sweep.yaml", "family.yaml", "runs")
        return any((self.path / name).exists() for name in names)

    def check_usable(self) -> None:
        """Refuse a folder that contains other files, or a study of an older version."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; choose a folder for --out")
        if self.is_study:
            if self._config_values().get("format") != FORMAT:
                raise InputError(self._made_by_older_version())
        elif not self._is_ours:
            others = [name for name in other_files(self.path) if name != self.data_file.name]
            if others:
                raise InputError(
                    f"{self.path} contains other files ({others[0]}, ...); choose a new or empty folder for --out"
                )

    @property
    def is_study(self) -> bool:
        """Whether there is a configuration. One that cannot be read is none where runs say by their keys what they were made of:
        the same command makes it again."""
        if self._record() is not None:
            return True
        if not self.config_file.exists():
            return False
        if self._is_ours:
            with suppress(DamagedError):
                return bool(self._config_in_file())
            return False
        return True

    @property
    def _is_ours(self) -> bool:
        """Whether a study was begun here, whatever became of its configuration."""
        traces = ("proof.json", "runs/*/status.json", f"runs/*/{CHECKPOINT}")
        return any(True for pattern in traces for _ in self.path.glob(pattern))

    def config(self) -> StudyConfig:
        """The resolved configuration of the study in this folder."""
        values = self._config_values()
        try:
            return build_config(values, str(self.config_file))
        except InputError:
            if values.get("format") == FORMAT:
                raise
            raise InputError(self._made_by_older_version()) from None

    def _made_by_older_version(self) -> str:
        timelines = self.path / "runs" if (self.path / "runs").exists() else self.timeline_file
        return (
            f"{self.path} was made by an older version of einstellung; choose another --out, or score its timelines: "
            f"einstellung score {timelines} --out REPORT"
        )

    def _config_values(self) -> dict[str, Any]:
        """Of ``config.yaml``; of ``study.json`` where that one is missing or not what was written."""
        record = self._record()
        if record is not None and self._is_damaged(self.config_file, record):
            values: dict[str, Any] = record["config"]
            return values
        if not self.config_file.exists():
            raise InputError(f"{self.path} is not a results folder: it has no config.yaml")
        return self._config_in_file()

    def _config_in_file(self) -> dict[str, Any]:
        try:
            values = read_yaml(self.config_file)
        except InputError as error:
            raise DamagedError(f"{error}; it is damaged: the same 'einstellung run' makes it again") from None
        if not isinstance(values, dict):
            raise DamagedError(
                f"{self.config_file} is not a configuration; it is damaged: the same 'einstellung run' makes it again"
            )
        return values

    def _record(self) -> dict[str, Any] | None:
        """What ``study.json`` holds; None where it is damaged, or an older version made the folder."""
        try:
            record = read_sealed(self.record_file)
        except InputError:
            return None
        return record if isinstance(record.get("config"), dict) and isinstance(record.get("files"), dict) else None

    def _is_damaged(self, file: Path, record: Mapping[str, Any]) -> bool:
        """Whether a file of the study is missing or not what was recorded. The version before counts, too: a process may have
        been killed between the record and the file."""
        versions = record["files"].get(file.name) or []
        if not versions:
            return False
        return not file.is_file() or not any(is_intact(file, facts) for facts in versions)

    def damaged_files(self) -> list[Path]:
        """The study's own files that are not what was written; a lost one counts only if it cannot be left out."""
        if (record := self._record()) is None:
            return [self.record_file] if self.record_file.exists() else []
        own = [self.path / name for name in record["files"]]
        return [file for file in own if self._is_damaged(file, record) and (file.exists() or file == self.config_file)]

    def unverified_files(self) -> list[Path]:
        """The study's own files for which no hash was recorded, by an older version."""
        recorded = (self._record() or {"files": {}})["files"]
        own = (self.config_file, self.proof_file, self.samples_file, self.sources_file)
        return [file for file in own if file.exists() and file.name not in recorded]

    def with_recorded_choices(self, config: StudyConfig) -> StudyConfig:
        """``auto`` replaced by what it resolved to when the folder was made."""
        training = config.training
        left_open = [name for name in type(training).model_fields if getattr(training, name) == "auto"]
        if not left_open or not self.is_study:
            return config
        chosen = self.config().training.model_dump(include=set(left_open))
        return config.model_copy(update={"training": training.model_copy(update=chosen)})

    def adopt(self, config: StudyConfig) -> StudyConfig:
        """A resolved ``config`` with the methods and seeds of this folder added; the rest must be the same."""
        if not self.is_study:
            return config
        new, old = config.model_dump(mode="json"), self.config().model_dump(mode="json")
        for section in _SHAPING:
            _require_same(section, new[section], old[section], self.path)
        for method, options in old["learners"].items():
            given = new["learners"].get(method, options)
            _require_same(f"learners.{method}", given, options, self.path)
        for name, made in old["combinations"].items():
            _require_same(f"combinations.{name}", new["combinations"].get(name, made), made, self.path)
        new["combinations"] = {**old["combinations"], **new["combinations"]}
        new["methods"] = list(dict.fromkeys([*old["methods"], *new["methods"]]))
        new["seeds"] = list(dict.fromkeys([*old["seeds"], *new["seeds"]]))
        new["learners"] = {**old["learners"], **new["learners"]}
        named = {plugin["file"] for plugin in new["plugins"]}  # plug-ins of earlier runs stay on record
        new["plugins"] += [plugin for plugin in old["plugins"] if plugin["file"] not in named]
        return build_config(new, str(self.config_file))

    def write_config(self, config: StudyConfig, **files: bytes) -> None:
        """Write the configuration, and other ``files`` of the study by the name of their property.

        The record comes first, with the hashes before this call as well: a process may be killed at any moment between two files.
        """
        contents = {getattr(self, f"{name}_file"): content for name, content in files.items()}
        contents[self.config_file] = to_yaml(config).encode()
        hashes = {file: fingerprint_of(content) for file, content in contents.items()}
        self._write_record(config.model_dump(mode="json"), {file.name: facts for file, facts in hashes.items()})
        for file, content in contents.items():
            if not file.is_file() or not is_intact(file, hashes[file]):
                write_bytes(file, content)

    def record_timeline(self) -> None:
        """Note the hash of ``timeline.csv``, which holds runs whose folders may be deleted."""
        if (record := self._record()) is None:
            return
        name, facts = self.timeline_file.name, fingerprint(self.timeline_file)
        if record["files"].get(name, [])[:1] != [facts]:  # otherwise there is nothing to write
            self._write_record(record["config"], {name: facts})

    def _write_record(self, config: Mapping[str, Any], hashes: Mapping[str, Mapping[str, Any]]) -> None:
        recorded = {name: versions[:1] for name, versions in (self._record() or {"files": {}})["files"].items()}
        for name, facts in hashes.items():
            recorded[name] = [facts, *(one for one in recorded.get(name, []) if one != facts)]
        write_sealed(self.record_file, {"config": config, "files": recorded})

    def read_optional(self, file: Path) -> dict[str, Any] | None:
        if not file.exists():
            return None
        return read_sealed(file)

    def read_if_whole(self, file: Path) -> dict[str, Any] | None:
        """The same, and None of a damaged file."""
        with suppress(InputError):
            return self.read_optional(file)
        return None

    def finished(self, relative: str, key: str, log: Log = lambda line: None) -> bool:
        """Whether the job in this sub-folder is finished, with the settings that ``key`` stands for, and all its files are whole.

        ``log`` is told of files that are not: their job is to run again.
        """
        folder = Path(normpath(self.path / relative))  # may be outside this folder, which need not exist yet
        try:
            status = read_status(folder)
        except InputError as error:
            log(f"{error}; its job runs again")
            return False
        if status is None or status.get("state") != "finished":
            return False
        if status.get("key") != key:
            raise InputError(
                f"{folder} was made with other settings; choose another --out, or delete it to train again"
            )
        files = files_of(status)
        for name, facts in files.items():
            if not (folder / name).is_file():
                log(f"{folder / name} is missing: its job runs again")
                return False
            if not is_intact(folder / name, facts):
                log(f"{folder / name} is damaged or truncated: its job runs again")
                return False
        return bool(files)

    def has_finished_runs(self) -> bool:
        """Whether there is anything to report."""
        if not self.has_runs:
            return self.timeline_file.exists()
        for file in self.path.glob("runs/*/status.json"):
            with suppress(InputError):
                if (read_status(file.parent) or {}).get("state") == "finished":
                    return True
        return False

    def note_failure(self, relative: str, reason: str) -> None:
        """Record a failure in the folder of its run, where :data:`TRACE` may already be."""
        folder = self.path / relative
        trace = TRACE if (folder / TRACE).exists() else None
        write_sealed(folder / "status.json", {"state": "failed", "reason": reason, "traceback": trace})

    def tidy(self, relative: str, finished: bool) -> None:
        """Delete what a killed process left in the folder of a job: half-written files, and what a finished job does not need."""
        folder = Path(normpath(self.path / relative))
        remove_leftovers(folder)
        if finished:
            for name in (CHECKPOINT, LIVE_TIMELINE):
                (folder / name).unlink(missing_ok=True)


def other_files(folder: Path) -> list[str]:
    """What lies in a folder besides a lock and what killed processes left half-written."""
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.name != LOCK and not is_leftover(entry.name)]


def read_status(folder: Path) -> dict[str, Any] | None:
    """``status.json`` of a job; None where there is none. An error names one that is damaged."""
    file = folder / "status.json"
    return read_sealed(file) if file.exists() else None


def require_whole(file: Path) -> None:
    """Refuse a file of a finished job that is not what the job wrote."""
    status = read_status(file.parent)
    facts = None if status is None else files_of(status).get(file.name)
    if facts is None or not file.exists():
        raise InputError(f"{file} is missing, or its job is not finished; rerun the command")
    if not is_intact(file, facts):
        raise DamagedError(f"{file} is damaged or truncated; rerun the command, which makes it again")


def files_of(status: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The files that a finished job left, with their hashes; a name that leads out of its folder is none of them.

    >>> files_of({"files": {"timeline.csv": {"bytes": 3}, "../config.yaml": {"bytes": 9}}})
    {'timeline.csv': {'bytes': 3}}
    """
    files = status.get("files")
    named = files.items() if isinstance(files, dict) else ()
    return {name: facts for name, facts in named if is_plain(name) and isinstance(facts, dict)}


def member_folder(root: Path, name: str) -> Path:
    """The folder of a study that a file in ``root`` names: directly below it, and no link that leads out of it."""
    folder = root / name
    if not is_plain(name):
        raise InputError(f"{root} names a study '{name}', which is not the name of a folder in it: correct that file")
    if folder.is_symlink() and not folder.resolve().is_relative_to(root.resolve()):
        raise InputError(f"{folder} is a link to another folder: put the study itself there")
    return folder


def is_plain(name: str) -> bool:
    """Whether a name can only be that of something directly inside a folder.

    >>> [is_plain(name) for name in ("a.csv", "..", "../a", "/a", "a/b", "a\\\\b", "")]
    [True, False, False, False, False, False, False]
    """
    return name not in ("", ".", "..") and not any(sign in name for sign in "/\\\0")


def _require_same(key: str, new: Any, old: Any, folder: Path) -> None:
    if isinstance(new, dict) and isinstance(old, dict):
        for name in sorted({*new, *old}):
            _require_same(f"{key}.{name}", new.get(name), old.get(name), folder)
    elif new != old:
        raise InputError(
            f"{folder} has a study with {key} = {old!r}, not {new!r}; choose another --out or delete that folder"
        )
