"""The one way to open files that we did not write: regular files only, up to a size, below a folder."""

from __future__ import annotations

import errno
import hashlib
import io
import lzma
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from einstellung.errors import InputError

MOST_TABLE_BYTES = 256 * 2**20  # of a table of pictures: a million lines and more
MOST_WEIGHTS_BYTES = 16 * 2**30
_MOST_LINE = 2**20
_XZ_MEMORY = 256 * 2**20  # the dictionary of an .xz file is allocated before anything is unpacked
_NO_FILE = (errno.ENOENT, errno.ENOTDIR)
_SLACK = 2**20
_CHUNK = 2**18
_MOST_FOLDERS = 200  # in a path: making them one below the other needs a stack


def open_regular(path: Path | str, most_bytes: int | None = None, missing: str | None = None) -> io.BufferedReader:
    """Open a regular file for reading; devices, pipes, folders and files above the limit are refused without being read.

    ``missing``: the message where there is no such file.
    """
    try:
        # without O_NONBLOCK, opening a pipe waits for a writer
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        if missing is not None and getattr(error, "errno", None) in _NO_FILE:
            raise InputError(missing) from None
        raise InputError(cannot_read(path, error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is {_kind(status.st_mode)}; give a regular file")
        if most_bytes is not None and status.st_size > most_bytes:
            raise InputError(f"{path} has {_megabytes(status.st_size)}; at most {_megabytes(most_bytes)} are read")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def require_regular(path: Path | str, most_bytes: int | None = None, missing: str | None = None) -> None:
    """The same checks, for libraries that open a file by its name."""
    open_regular(path, most_bytes, missing).close()


def read_bytes(path: Path | str, most_bytes: int, missing: str | None = None) -> bytes:
    """The content of a regular file."""
    with open_regular(path, most_bytes, missing) as file:
        try:
            return file.read(most_bytes + 1)
        except OSError as error:
            raise InputError(cannot_read(path, error)) from None


def read_text(path: Path | str, most_bytes: int, encoding: str = "utf-8", missing: str | None = None) -> str:
    """The text of a regular file."""
    try:
        return read_bytes(path, most_bytes, missing).decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1:,})") from None


def text_lines(path: Path | str, most_bytes: int) -> Iterator[str]:
    """The lines of a text file, one at a time; none may be longer than 1 MiB."""
    with open_regular(path, most_bytes) as file:
        number = 0
        while line := _read_line(file, path):
            number += 1
            if len(line) > _MOST_LINE:
                raise InputError(f"{path}, line {number:,}: it is longer than {_megabytes(_MOST_LINE)}")
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                raise InputError(f"cannot read {path}, line {number:,}: it is not text in UTF-8") from None


def _read_line(file: BinaryIO, path: Path | str) -> bytes:
    try:
        return file.readline(_MOST_LINE + 1)
    except OSError as error:
        raise InputError(cannot_read(path, error)) from None


def sha256_of(path: Path | str, most_bytes: int | None = None) -> str:
    """The hash of a regular file's content, which is read in pieces."""
    with open_regular(path, most_bytes) as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(cannot_read(path, error)) from None


def require_unpacked(path: Path | str) -> None:
    """Refuse a zip archive that is larger inside than outside: those of torch hold their tensors as they are."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = sum(entry.file_size for entry in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError):
        return  # whoever reads it says what is wrong
    if inside > os.path.getsize(path) + _SLACK:
        raise InputError(f"{path} is no file of weights: it unpacks to {_megabytes(inside)}")


def below(folder: Path, name: str, where: str) -> Path:
    """The path of ``name``, which must stay below ``folder``, also where it is a link; ``where`` begins the message.

    >>> below(Path("pictures"), "cats/a.png", "labels.csv, line 2: file").as_posix()
    'pictures/cats/a.png'
    >>> below(Path("pictures"), "../a.png", "labels.csv, line 2: file")
    Traceback (most recent call last):
    einstellung.errors.InputError: labels.csv, line 2: file '../a.png' leads out of pictures: name files below it
    """
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    absolute = PurePosixPath(name).is_absolute() or bool(PureWindowsPath(name).anchor)
    path = folder / name
    try:
        inside = not absolute and ".." not in parts and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: links in a circle, before Python 3.13
        raise InputError(cannot_read(path, error)) from None
    if not inside:
        raise InputError(f"{where} '{name}' leads out of {folder}: name files below it")
    return path


def usable_path(text: str) -> Path:
    """A path that a person gave: one that the system can look up, whether there is something or not.

    >>> usable_path("results/mine")
    PosixPath('results/mine')
    >>> usable_path(" ")
    Traceback (most recent call last):
    einstellung.errors.InputError: the path is empty; '.' is the current folder
    """
    if not text.strip():  # an unset shell variable in --out "$OUT" must not mean the current folder
        raise InputError("the path is empty; '.' is the current folder")
    path = Path(text)
    if len(path.parts) > _MOST_FOLDERS:
        raise InputError(f"the path '{text}' names {len(path.parts):,} folders, more than {_MOST_FOLDERS}")
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise InputError(f"cannot use '{text}': {getattr(error, 'strerror', None) or error}") from None
    return path


def cannot_read(path: Path | str, error: BaseException) -> str:
    """One line for whatever went wrong when ``path`` was opened."""
    return f"cannot read {path}: {getattr(error, 'strerror', None) or error}"


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "not a regular file"


def _megabytes(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB" if count >= 2**20 else f"{count:,} bytes"


class XzReader(io.RawIOBase):
    """What an .xz file unpacks to; its dictionary may take at most 256 MiB."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._decoder: lzma.LZMADecompressor | None = None
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._decoder is None and not self._begin():
                return 0
            assert self._decoder is not None
            packed = b""
            if self._decoder.needs_input:
                packed, self._pending = self._pending or self._packed.read(_CHUNK), b""
                if not packed:
                    raise EOFError("it ends in the middle")
            part = self._decoder.decompress(packed, len(buffer))
            if self._decoder.eof:
                self._pending, self._decoder = self._decoder.unused_data, None
            if part:
                buffer[: len(part)] = part
                return len(part)

    def _begin(self) -> bool:
        """The next of the streams, which may follow each other, padded with zeros; False at the end."""
        self._pending = self._pending.lstrip(b"\0")
        while not self._pending:
            packed = self._packed.read(_CHUNK)
            if not packed:
                return False
            self._pending = packed.lstrip(b"\0")
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        return True
