"""A results folder: its files, its lock, and which of its runs are finished. No torch in here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from einstellung.errors import InputError
from einstellung.files import read_json, write_json, write_text
from einstellung.results.config import FORMAT, StudyConfig, build_config, to_yaml
from einstellung.timeline import Timeline

_SHAPING = ("stream", "cue", "cover", "backbone", "training", "evaluation", "attention")


@dataclass(frozen=True)
class ResultsFolder:
    """``config.yaml``, ``proof.json``, ``provenance.json``, ``samples.npz``, ``sources.csv``, ``first_phases/``, ``runs/``."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

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

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Lock the folder; a second process is refused at once. The system frees the lock of a process that dies."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(
                f"{self.path} is in use by another einstellung process; wait for it or choose another --out"
            ) from None
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error.strerror or error}; choose another --out") from None
        try:
            yield
        finally:
            lock.release()

    def check_usable(self) -> None:
        """Refuse a folder that holds other files, or a study of an older version."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; choose a folder for --out")
        if self.config_file.exists():
            if self._config_values().get("format") != FORMAT:
                raise InputError(self._made_by_older_version())
        elif self.path.is_dir():
            strangers = [entry.name for entry in self.path.iterdir() if entry.name != ".lock"]
            if strangers:
                raise InputError(
                    f"{self.path} holds other files ({strangers[0]}, ...); choose a new or empty folder for --out"
                )

    def config(self) -> StudyConfig:
        """The resolved configuration of the study in this folder."""
        values = self._config_values()
        try:
            return build_config(values, str(self.config_file))
        except InputError as error:
            if values.get("format") == FORMAT:
                raise
            raise InputError(f"{self._made_by_older_version()} ({error})") from None

    def _made_by_older_version(self) -> str:
        timelines = self.path / "runs" if (self.path / "runs").exists() else self.timeline_file
        return (
            f"{self.path} was made by an older version of einstellung; run the study again into a new folder (--out), or score "
            f"its timelines: einstellung score {timelines} --out REPORT"
        )

    def _config_values(self) -> dict[str, Any]:
        if not self.config_file.exists():
            raise InputError(f"{self.path} is not a results folder: it has no config.yaml")
        try:
            values = yaml.safe_load(self.config_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(f"cannot read {self.config_file}: {error}") from None
        if not isinstance(values, dict):
            raise InputError(f"{self.config_file} does not hold a configuration; restore it or delete the folder")
        return values

    def with_recorded_choices(self, config: StudyConfig) -> StudyConfig:
        """``auto`` replaced by what it resolved to when the folder was made."""
        training = config.training
        left_open = [name for name in type(training).model_fields if getattr(training, name) == "auto"]
        if not left_open or not self.config_file.exists():
            return config
        chosen = self.config().training.model_dump(include=set(left_open))
        return config.model_copy(update={"training": training.model_copy(update=chosen)})

    def adopt(self, config: StudyConfig) -> StudyConfig:
        """A resolved ``config`` with the methods and seeds of this folder added; the rest must be the same."""
        if not self.config_file.exists():
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

    def write_config(self, config: StudyConfig) -> None:
        write_text(self.config_file, to_yaml(config))

    def read_optional(self, file: Path) -> dict[str, Any] | None:
        if not file.exists():
            return None
        value = read_json(file)
        if not isinstance(value, dict):
            raise InputError(f"{file} does not hold a JSON object; delete it or restore it")
        return value

    def finished(self, relative: str, key: str) -> bool:
        """Whether the job in this sub-folder is finished, with the settings that ``key`` stands for."""
        folder = Path(normpath(self.path / relative))  # may be outside this folder, which need not exist yet
        status = self.read_optional(folder / "status.json")
        if status is None or status.get("state") != "finished":
            return False
        if status.get("key") != key:
            raise InputError(
                f"{folder} was made with other settings; choose another --out, or delete it to train again"
            )
        files = status.get("files") or {}
        return bool(files) and all(self._is_whole(folder / name, facts) for name, facts in files.items())

    def _is_whole(self, file: Path, facts: dict[str, Any]) -> bool:
        """False where a file is missing (its job runs again); a file that changed since it was written is refused."""
        if not file.exists():
            return False
        if facts != fingerprint(file):
            raise InputError(f"{file} is damaged or cut short; delete it to train that part again")
        return True

    def failures(self) -> list[str]:
        """A sentence for every run whose last attempt failed."""
        failed = [(name, status) for name, status in self._statuses() if status.get("state") == "failed"]
        return [f"{name} failed: {status.get('reason')}" for name, status in failed]

    def _statuses(self) -> list[tuple[str, dict[str, Any]]]:
        files = sorted(self.path.glob("runs/*/status.json"))
        return [(file.parent.name, self.read_optional(file) or {}) for file in files]

    def has_finished_runs(self) -> bool:
        """Whether there is anything to report."""
        if not (self.path / "runs").exists():
            return self.timeline_file.exists()
        return any(status.get("state") == "finished" for _, status in self._statuses())

    def merge_timelines(self) -> Timeline | None:
        """Write one ``timeline.csv`` over all finished runs; in a folder without ``runs/``, read the existing one."""
        if not (self.path / "runs").exists():
            return Timeline.read(self.timeline_file) if self.timeline_file.exists() else None
        done = [
            self.path / "runs" / name / "timeline.csv"
            for name, status in self._statuses()
            if status.get("state") == "finished"
        ]
        if not done:
            return None
        timeline = Timeline.read_many(done)
        timeline.write(self.timeline_file)
        return timeline

    def note_failure(self, relative: str, reason: str, trace: str) -> None:
        """Record a failure in the folder of its run."""
        write_json(self.path / relative / "status.json", {"state": "failed", "reason": reason, "traceback": trace})


def fingerprint(file: Path) -> dict[str, Any]:
    """The size of a file and, if it is small, its hash: recorded by a finished job."""
    size = file.stat().st_size
    small = size <= 4_000_000
    return {"bytes": size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()[:16] if small else None}


def _require_same(key: str, new: Any, old: Any, folder: Path) -> None:
    if isinstance(new, dict) and isinstance(old, dict):
        for name in sorted({*new, *old}):
            _require_same(f"{key}.{name}", new.get(name), old.get(name), folder)
    elif new != old:
        raise InputError(
            f"{folder} holds a study with {key} = {old!r}, not {new!r}; choose another --out or delete that folder"
        )
