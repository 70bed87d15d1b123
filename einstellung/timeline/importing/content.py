"""The bytes of a log file: regular files only, unpacked, and never more than a limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.foreign_files import XzReader, read_bytes, require_regular

MOST_BYTES = 512 * 2**20  # unpacked; a timeline of five million rows
MOST_COLUMNS = 10_000
_CHUNK = 2**20
_ZSTD_WINDOW = 256 * 2**20

_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)


def require_regular_file(path: Path) -> None:
    """Refuse devices, pipes and files beyond the limit before a library opens them."""
    require_regular(path, MOST_BYTES)


def read_content(path: Path) -> tuple[bytes, str | None]:
    """The content of a file, unpacked, and how it was packed, by its first bytes."""
    content = read_bytes(path, MOST_BYTES)
    packing = next((name for magic, name in _PACKED.items() if content.startswith(magic)), None)
    return (content if packing is None else _unpacked(path, content, packing)), packing


def _unpacked(path: Path, content: bytes, packing: str) -> bytes:
    parts, size = [], 0
    try:
        for part in _chunks(path, content, packing):
            size += len(part)
            if size > MOST_BYTES:
                raise InputError(f"{path} unpacks to more than {_limit()}: split the log")
            parts.append(part)
    except _ERRORS as error:
        raise InputError(f"{path} is a broken {packing} file: {error}") from None
    return b"".join(parts)


def _chunks(path: Path, content: bytes, packing: str) -> Iterator[bytes]:
    if packing == "xz":
        return _stream_chunks(XzReader(io.BytesIO(content)))
    if packing == "zstd":
        return _stream_chunks(_zstd_stream(path, content))
    return _stream_chunks((gzip if packing == "gzip" else bz2).open(io.BytesIO(content)))


def _stream_chunks(stream: Any) -> Iterator[bytes]:
    with stream:
        while part := stream.read(_CHUNK):
            yield part


def _zstd_stream(path: Path, content: bytes) -> Any:
    try:
        import zstandard
    except ImportError:
        raise InputError(f"{path}: reading zstd needs zstandard; pip install 'einstellung[zstd]'") from None
    try:
        decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        return _ZstdStream(decoder.stream_reader(io.BytesIO(content), read_across_frames=True), zstandard.ZstdError)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


class _ZstdStream:
    """The package's reader, with its own kind of error turned into one that Python knows."""

    def __init__(self, stream: Any, error: type[Exception]) -> None:
        self._stream, self._error = stream, error

    def __enter__(self) -> _ZstdStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except self._error as error:
            raise ValueError(str(error)) from None


def _limit() -> str:
    return f"{MOST_BYTES / 2**20:,.0f} MiB"


def require_few_columns(path: Path | str, count: int) -> None:
    """Refuse tables of absurd width before their cells are parsed."""
    if count > MOST_COLUMNS:
        raise InputError(f"{path} has {count:,} columns; at most {MOST_COLUMNS:,} are read: export fewer metrics")
