"""Files as a viewer may read them: plain ones only. Symbolic links are not followed, devices and pipes not opened."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Signature(NamedTuple):
    """What changes whenever a file is replaced."""

    changed: int
    size: int
    inode: int


def signature(path: Path) -> Signature | None:
    """None where there is no plain file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Signature(found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def subfolders(path: Path) -> Iterator[os.DirEntry[str]]:
    """The folders in a folder, sorted by name; none where ``path`` is a link, no folder or unreadable."""
    if not is_folder(path):
        return
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from sorted(found, key=lambda entry: entry.name)


def is_folder(path: Path) -> bool:
    """Whether this is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


class FileCache(Generic[T]):
    """What was read from files, kept in memory until they change. An exception is kept as well, and raised again."""

    def __init__(self, read: Callable[[Path], T]) -> None:
        self._read = read
        self._kept: dict[Path, tuple[Signature, T | Exception]] = {}
        self._lock = threading.Lock()

    def get(self, path: Path) -> T | None:
        """None where there is no plain file."""
        now = signature(path)
        if now is None:
            self._kept.pop(path, None)
            return None
        with self._lock:
            kept = self._kept.get(path)
        if kept is None or kept[0] != now:
            found: T | Exception
            try:
                found = self._read(path)
            except Exception as error:  # noqa: BLE001 (whatever a damaged file causes is this file's result)
                found = error
            kept = (now, found)
            with self._lock:
                self._kept[path] = kept
        if isinstance(kept[1], Exception):
            raise kept[1]
        return kept[1]
