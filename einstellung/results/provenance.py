"""Provenance of results: code, packages, data, machine, command, times."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from einstellung.foreign_files import sha256_of
from einstellung.version import __version__

_PACKAGES = ("torch", "numpy", "pandas", "scipy", "matplotlib", "pydantic", "safetensors")


def provenance(command: str, digests: dict[str, str]) -> dict[str, Any]:
    """All that is needed to trace a number back to the code, data and machine that produced it."""
    return {
        "command": command,
        "started": now(),
        "finished": None,
        "code_version": __version__,
        "code_hash": code_hash(),
        "git_commit": git_commit(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "data": digests,
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        },
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def code_hash() -> str:
    """A hash of the package's source files: equal hashes mean equal code."""
    root = Path(__file__).parents[1]
    hasher = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        hasher.update(str(path.relative_to(root)).encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()[:16]


def file_hashes(files: Iterable[Path]) -> dict[str, str]:
    """A hash of every file's content; of a folder (a run of MLflow's), of every file below it."""
    every = [one for file in files for one in (sorted(file.rglob("*")) if file.is_dir() else [file])]
    return {str(file): sha256_of(file)[:16] for file in every if file.is_file()}


def git_commit() -> str | None:
    """The commit of the checkout that the package runs from, marked if files differ; None outside a checkout."""
    root = Path(__file__).parents[1]
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None  # no git, or no checkout: the code hash still identifies the version
    return f"{commit} with changes" if changed else commit


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
