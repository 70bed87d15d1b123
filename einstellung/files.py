"""Atomic writes: a file of a results folder is either complete or absent."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from einstellung.errors import InputError


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=f".writing{path.suffix}", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        write(temporary)
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise _as_input_error(error, path) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


def _as_input_error(error: OSError, path: Path) -> InputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return InputError(f"no space left while writing {path}: free some space and run the same command again")
    return InputError(f"cannot write {path}: {error.strerror or error}; choose a folder you can write to")


def require_writable(folder: Path) -> None:
    """Refuse a folder, existing or not, that cannot be written to; nothing is created."""
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"{existing} is a file; choose a folder for --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {existing}; choose another folder for --out")


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
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # ValueError: bad syntax, bad encoding or a number with too many digits
        raise InputError(f"{path} is not valid JSON ({error}); delete it or restore it") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def digest(value: Any, length: int = 16) -> str:
    """A short hash of a JSON value, the same in every process and on every machine.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:length]
