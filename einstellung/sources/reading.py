"""Read published files from a folder or an archive, and verify their hashes."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from einstellung.errors import InputError
from einstellung.foreign_files import XzReader, open_regular, read_bytes
from einstellung.sources.published import PublishedDataset

_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, NotImplementedError)


def read_files(path: Path, published: PublishedDataset) -> dict[str, bytes]:
    """All files of the data set in ``path``, md5 verified; nothing is unpacked to disk."""
    contents: dict[str, bytes] = {}
    try:
        for name, content in _members(path, published):
            if (found := hashlib.md5(content, usedforsecurity=False).hexdigest()) != published.md5[name]:
                raise InputError(
                    f"'{name}' in {path} is not the published file (md5 {found}, should be {published.md5[name]})"
                )
            contents[name] = content
    except _DAMAGED as error:
        raise InputError(f"{path} is damaged ({error})") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if missing := [name for name in published.md5 if name not in contents]:
        raise InputError(f"{path} lacks {', '.join(missing)}")
    return contents


def content_hash(path: Path, published: PublishedDataset) -> str:
    """A hash of the archive, or of the files in the folder: part of the cache's key."""
    files = [path] if path.is_file() else [path / name for name in published.md5]
    hasher = hashlib.sha256()
    for file in files:
        if not file.is_file():
            raise InputError(f"{path} lacks {file.name}")
        hasher.update(bytes.fromhex(file_hash(file, "sha256")))
    return hasher.hexdigest()


def file_hash(path: Path, algorithm: str) -> str:
    """The hash of a file's bytes."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, algorithm).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _members(path: Path, published: PublishedDataset) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for name in published.md5:
            if (path / name).is_file():
                yield name, read_bytes(path / name, published.most_bytes)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.flag_bits & 1:
                    raise InputError(f"{path} is encrypted")
                if wanted := _wanted(entry.filename, published):
                    _check_size(path, entry.filename, entry.file_size, published)
                    yield wanted, archive.read(entry)
    else:
        with open_regular(path) as packed, tarfile.open(fileobj=unpacked(packed), mode="r|") as tar:
            for member in tar:
                _check_size(path, member.name, member.size, published)  # also of those that are only skipped
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None and (wanted := _wanted(member.name, published)):
                    yield wanted, content.read()


def unpacked(packed: BinaryIO) -> Any:
    """The stream of an archive, by its first bytes; an .xz may not ask for any amount of memory."""
    head = packed.read(6)
    packed.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=packed)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(packed)
    return XzReader(packed) if head == b"\xfd7zXZ\x00" else packed


def _check_size(path: Path, name: str, size: int, published: PublishedDataset) -> None:
    if size > published.most_bytes:
        raise InputError(f"'{name}' in {path} has {size:,} bytes, more than any published file")


def _wanted(member: str, published: PublishedDataset) -> str | None:
    """The published file that an archive's member is, if it is in the data set's folder or at the top; else None."""
    *folders, name = PurePosixPath(member).parts or ("",)
    return name if name in published.md5 and folders in ([], [published.folder]) else None
