"""Corpora in small, and archives that nobody should trust."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def write_tar(path: Path, files: Mapping[str, bytes]) -> Path:
    """Packed as the name's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packing = {".tar": "", ".tgz": "gz"}.get(path.suffix, path.suffix[1:])
    with tarfile.open(path, f"w:{packing}") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def announcing(path: Path, name: str, size: int) -> Path:
    """A tar with the header of a file of this size, and little of the file."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    path.write_bytes(entry.tobuf() + bytes(4096))
    return path


def mail_named(number: int, content: bytes) -> str:
    return f"{number:05}.{hashlib.md5(content).hexdigest()}"
