"""Locate the peers: from the command line, the environment, or next to the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.peers.process import ROOT, Peer, PeerError
from einstellung.errors import InputError

MAMMOTH, MAMMOTH_PYTHON = "EINSTELLUNG_MAMMOTH", "EINSTELLUNG_MAMMOTH_PYTHON"
AVALANCHE_PYTHON = "EINSTELLUNG_AVALANCHE_PYTHON"


def remember_places(mammoth: Path | None, mammoth_python: Path | None, avalanche_python: Path | None) -> None:
    """Put the given paths into the environment for all verbs; an invalid path is an error."""
    given = {MAMMOTH: mammoth, MAMMOTH_PYTHON: mammoth_python, AVALANCHE_PYTHON: avalanche_python}
    for name, place in given.items():
        if place is None:
            continue
        if wrong := _wrong_folder(place) if name == MAMMOTH else _wrong_interpreter(place):
            raise InputError(f"--{name.removeprefix('EINSTELLUNG_').lower().replace('_', '-')}: {wrong}")
        os.environ[name] = str(place.absolute())


def start_mammoth(width: int = 64) -> Peer:
    """Mammoth's process, which reports when it is ready. Raises :class:`PeerError` if no path was given."""
    folder = os.environ.get(MAMMOTH)
    if not folder:
        raise PeerError("no checkout given: --mammoth FOLDER --mammoth-python PYTHON")
    return Peer([os.environ.get(MAMMOTH_PYTHON, sys.executable), "-m", "benchmarks.peers.mammoth", folder, str(width)])


def start_avalanche(width: int = 64) -> Peer:
    local = ROOT / ".venv-bridges" / "bin" / "python"
    python = os.environ.get(AVALANCHE_PYTHON) or (str(local) if local.exists() else None)
    if python is None:
        raise PeerError("not installed: 'make test-bridges' makes an environment for it, or --avalanche-python PYTHON")
    return Peer([python, "-m", "benchmarks.peers.avalanche", str(width)])


def _wrong_folder(place: Path) -> str | None:
    if not place.exists():
        return f"there is no {place}"
    return None if place.is_dir() else f"{place} is not a folder: give a checkout of Mammoth"


def _wrong_interpreter(place: Path) -> str | None:
    if not place.exists():
        return f"there is no {place}"
    if place.is_dir():
        return f"{place} is a folder: give the interpreter itself, such as bin/python in it"
    return None if os.access(place, os.X_OK) else f"{place} is not executable: give an interpreter"
