"""Make a checkout of Mammoth importable."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from einstellung.bridges.installed import declare_torchvision_operators
from einstellung.errors import InputError

_PARTS = ("main.py", "datasets", "models", "backbone", "utils")


def open_checkout(folder: Path | str) -> Path:
    """Put Mammoth's folder first on the path, so that ``main``, ``datasets``, ``models`` and ``utils`` are Mammoth's.

    Mammoth's CLIP datasets (those that import ``open_clip``) are skipped: one of them downloads weights on import, so that
    Mammoth could not be imported without that package and a connection. Importing Mammoth changes the working directory to
    its folder, so resolve paths first.
    """
    folder = Path(folder).resolve()
    if missing := [part for part in _PARTS if not (folder / part).exists()]:
        raise InputError(f"{folder} is not a checkout of Mammoth: it has no {', '.join(missing)}")
    declare_torchvision_operators()
    if sys.path[0] != str(folder):
        sys.path.insert(0, str(folder))
    for name in clip_datasets(folder):
        sys.modules.setdefault(f"datasets.{name}", ModuleType(f"datasets.{name}", "Skipped: it needs open_clip."))
    return folder


def clip_datasets(folder: Path) -> list[str]:
    """Names of Mammoth's dataset modules that import ``open_clip``."""
    files = sorted((folder / "datasets").glob("*.py"))
    return [file.stem for file in files if "import open_clip" in file.read_text(encoding="utf-8")]
