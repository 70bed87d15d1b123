"""Atomic writes: a file of a results folder is either complete or absent."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.folders import make_folder, require_present
from einstellung.foreign_files import read_text

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_MOST_JSON = 256 * 2**20
_LEFTOVER = re.compile(r"\..*-[a-z0-9_]{8}\.writing(\.[^.]*)?", re.DOTALL)


def write_atomically(path: Path | str, write: Callable[[Path], object]) -> Path:
    """Let ``write`` fill a temporary file next to ``path``, then move it into place.

    A reader never sees half a file, and a failed write leaves the previous one. A full disk is reported in one line.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "a.txt", lambda temporary: temporary.write_text("whole")).read_text()
    'whole'
    """
    path = Path(path)
    temporary: Path | None = None
    handle = -1
    try:
        make_folder(path.parent)
        handle, temporary = _temporary_beside(path)
        write(temporary)
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        require_present(path)
        raise _as_input_error(error, path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if handle >= 0:
            os.close(handle)
    return path


def _as_input_error(error: OSError, path: Path) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return InputError(f"no space left while writing {path}: free some space and rerun the command")
    return InputError(f"cannot write {path}: {error.strerror or error}; choose a folder you can write to")


def require_writable(folder: Path) -> None:
    """Refuse a folder, existing or not, that cannot be written to; nothing is created."""
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"{existing} is a file; choose a folder for --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {existing}; choose another folder for --out")


def write_text(path: Path | str, text: str) -> Path:
    """Write ``text`` as UTF-8 with Unix line endings, atomically."""
    return write_atomically(path, lambda temporary: temporary.write_bytes(text.encode("utf-8")))


def write_bytes(path: Path | str, content: bytes) -> Path:
    """Write ``content`` atomically."""
    return write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_json(path: Path | str, value: Any) -> Path:
    """Write ``value`` as strict JSON, atomically; NaN is refused, as undefined values are null."""
    return write_text(path, to_json(value) + "\n")


def to_json(value: Any) -> str:
    """Strict, indented JSON.

    >>> print(to_json({"mean": None}))
    {
      "mean": null
    }
    """
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


def read_json(path: Path | str) -> Any:
    """Read JSON; an error names a missing or broken file."""
    text = read_text(path, _MOST_JSON, missing=f"{path} is missing")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: bad syntax, or a number with too many digits
        raise InputError(f"{path} is not valid JSON ({error}); delete or restore it") from None


def digest(value: Any, length: int = 16) -> str:
    """A short hash of a JSON value, the same in every process and on every machine.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:length]


def is_leftover(name: str) -> bool:
    """Whether a name is that of a temporary file of :func:`write_atomically`.

    >>> is_leftover(".config-8_3kq0zx.writing.yaml"), is_leftover(".config.yaml"), is_leftover("config-8_3kq0zx.writing.yaml")
    (True, False, False)
    """
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(folder: Path) -> None:
    """Delete what killed processes left half-written in a folder, but nothing that a living process is writing.

    Whoever writes such a file holds a lock on it, which the system frees when the process dies. A file by another user, a link,
    or one that cannot be locked stays.
    """
    if fcntl is None:
        return
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if is_leftover(entry.name)]
    except OSError:
        return
    for path in found:
        try:
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            facts = os.fstat(handle)
            if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and _lock(handle):
                os.unlink(path)
        except OSError:
            pass
        finally:
            os.close(handle)


@contextmanager
def unfinished_folder(target: Path, mark: str) -> Iterator[Path]:
    """A new folder next to ``target``, to be filled and renamed to it; removed in the end if it is still there.

    Such folders that killed processes left are removed first: each has a lock next to it, which the system frees.
    """
    prefix = f".{target.name}-{mark}-"
    make_folder(target.parent)
    _remove_unfinished(target.parent, prefix)
    handle, lock = _locked_file(prefix, ".lock", target.parent)
    folder = lock.with_suffix("")
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        if handle >= 0:
            os.close(handle)


def _remove_unfinished(parent: Path, prefix: str) -> None:
    if fcntl is None:
        return
    for lock in [path for path in parent.iterdir() if path.name.startswith(prefix) and path.suffix == ".lock"]:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            if os.fstat(handle).st_uid == os.geteuid() and _lock(handle):
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _temporary_beside(path: Path) -> tuple[int, Path]:
    """A new file in the folder of ``path``, and a handle that holds its lock (-1 where the system has no such locks)."""
    return _locked_file(f".{path.stem}-", f".writing{path.suffix}", path.parent)


def _locked_file(prefix: str, suffix: str, folder: Path) -> tuple[int, Path]:
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        if fcntl is None:
            os.close(handle)
            return -1, Path(name)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)  # deleted as a leftover before it was locked


def _lock(handle: int) -> bool:
    """Whether the file is locked now; False where another process has it, or the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
