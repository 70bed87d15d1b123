"""What launchers share whose jobs run in other places: a clean process, equal code, plug-ins by hash, run folders as bytes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from einstellung.errors import InputError
from einstellung.experiments.execution import proved_stream
from einstellung.experiments.plugins import load_plugins
from einstellung.experiments.processes import keep_freed_memory, use_threads
from einstellung.files import write_bytes
from einstellung.foreign_files import MOST_WEIGHTS_BYTES, read_bytes
from einstellung.results.config import PluginConfig, StudyConfig
from einstellung.results.live_files import LIVE_TIMELINE
from einstellung.results.provenance import code_hash
from einstellung.streams import Stream

# Read by libraries as they are loaded; a job then sets its own number of threads (see einstellung.experiments.processes).
PROCESS_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
}
STATUS = "status.json"
_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_STAYS_BEHIND = (LIVE_TIMELINE, "checkpoint.safetensors")  # of an unfinished run


@dataclass(frozen=True)
class Code:
    """What must be equal where a job runs: other code gives other bytes."""

    sources: str
    packages: Mapping[str, str]

    @staticmethod
    def here() -> Code:
        import numpy
        import torch

        return Code(code_hash(), {"torch": torch.__version__, "numpy": numpy.__version__})

    def require(self, place: str) -> None:
        """Refuse to run a job here if the code here differs from this one."""
        own = Code.here()
        if own.sources != self.sources:
            raise InputError(
                f"{place} has another version of einstellung ({own.sources}, the study was started with {self.sources}): "
                "install the same one everywhere, and rerun the command"
            )
        for name, version in self.packages.items():
            if own.packages[name] != version:
                raise InputError(
                    f"{place} has {name} {own.packages[name]}, the study was started with {version}: install the same release "
                    "everywhere, and rerun the command"
                )


@dataclass(frozen=True)
class RemoteStudy:
    """All that a job needs besides itself, for a process elsewhere. ``root`` is the results folder as that process sees it."""

    config: StudyConfig
    root: Path
    digests: Mapping[str, str]
    code: Code


def prepare_process(study: RemoteStudy, place: str) -> None:
    """Make this process like a worker of the local launcher, after a check that its code is the same: sums depend on threads."""
    import torch

    global _prepared
    study.code.require(place)
    if not _prepared:
        torch.set_num_interop_threads(1)  # operations run one after the other; can be set only once
        keep_freed_memory()
        _prepared = True
    use_threads(study.config.training.thread_count)


_prepared = False


def files_of(config: StudyConfig) -> dict[str, bytes]:
    """The user's files that a job reads besides its data, plug-ins and weights, by their path here."""
    files = [plugin.file for plugin in config.plugins]
    if weights := config.backbone.options.get("weights"):
        files.append(weights)
    return {file: read_bytes(Path(file).expanduser(), MOST_WEIGHTS_BYTES) for file in files}


def with_files_in(folder: Path, config: StudyConfig, files: Mapping[str, bytes]) -> StudyConfig:
    """The configuration with these files below ``folder``, each under its hash; what is there already is compared with it."""
    placed = {file: str(_placed(folder, Path(file).name, content)) for file, content in files.items()}
    plugins = tuple(PluginConfig(file=placed[one.file], sha256=one.sha256) for one in config.plugins)
    backbone = config.backbone
    if weights := backbone.options.get("weights"):
        backbone = backbone.model_copy(update={"weights": placed[weights]})
    return config.model_copy(update={"plugins": plugins, "backbone": backbone})


def _placed(folder: Path, name: str, content: bytes) -> Path:
    sha256 = hashlib.sha256(content).hexdigest()
    file = folder / sha256 / name
    if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
        write_bytes(file, content)
    return file


def received_stream(study: RemoteStudy, fetch: Callable[[], Stream] | None) -> Stream:
    """The stream of a study in this process, built from data found here, or fetched; compared with the data that were proved."""
    load_plugins(study.config.plugins)  # before it is fetched: it may have objects of a plug-in
    return proved_stream(study.config, study.digests, None if fetch is None else fetch())


def folder_contents(folder: Path) -> dict[str, bytes]:
    """The files of a run folder that belong to its results, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in _STAYS_BEHIND and ".writing" not in path.name
    }


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write a run folder that was sent here; the status comes last, as it says that all else is there."""
    for name in sorted(contents, key=lambda name: (name == STATUS, name)):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"a run folder was sent here with a file outside of it ({name}); nothing of it is kept")
        write_bytes(folder / name, contents[name])


def private_folder(folder: Path) -> Path:
    """A folder that only this user can write to, made where it is missing; one of somebody else is refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.lstat()
    if folder.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise InputError(f"{folder} belongs to somebody else or is open to others; set TMPDIR to a folder of your own")
    return folder


def bytes_of(text: str, key: str) -> int:
    """An amount of memory in bytes.

    >>> bytes_of("4GB", "launcher.memory"), bytes_of("1.5 GB", "launcher.memory")
    (4000000000, 1500000000)
    >>> bytes_of("lots", "launcher.memory")
    Traceback (most recent call last):
    einstellung.errors.InputError: launcher.memory is 'lots': write an amount such as 500MB or 4GB
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?(MB|GB|TB)", text)
    if match is None or not (amount := int(float(match[1]) * _UNITS[match[2]])):
        raise InputError(f"{key} is '{text[:40]}': write an amount such as 500MB or 4GB")
    return amount
