"""Text corpora in folders and tar archives: every file with its path, read within limits, nothing unpacked to disk."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import exists, isdir, isfile
from pathlib import Path, PurePosixPath
from typing import TypeVar

from einstellung.errors import InputError, with_advice
from einstellung.foreign_files import XzReader, cannot_read, open_regular, read_bytes
from einstellung.sources.locations import DataLocation, data_locations, describe_locations
from einstellung.sources.reading import unpacked

T = TypeVar("T")

TAR_ENDINGS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)


@dataclass(frozen=True)
class Limits:
    """The most bytes of a file, bytes of all files together, and number of files."""

    file_bytes: int = 2**24
    all_bytes: int = 2**29
    files: int = 100_000


class _Budget:
    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits = path, limits
        self.files = self.bytes = 0

    def spend(self, name: str, size: int) -> None:
        """Refuse a file before it is read."""
        if size > self.limits.file_bytes:
            raise InputError(
                f"'{name}' in {self.path} has {size:,} bytes; at most {self.limits.file_bytes:,} of a file are read"
            )
        self.files += 1
        self.bytes += size
        if self.files > self.limits.files:
            raise InputError(
                f"{self.path} holds more than {self.limits.files:,} files; give the folder of the corpus alone"
            )
        if self.bytes > self.limits.all_bytes:
            raise InputError(f"the files in {self.path} have more than {self.limits.all_bytes:,} bytes together")


def files_within(
    path: Path, wanted: Callable[[tuple[str, ...]], bool], limits: Limits = Limits()
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The parts of every wanted file's path below ``path``, and its content; in alphabetical order in a folder.

    Links are not followed, and an archive with a member that leads out of it is refused.
    """
    budget = _Budget(path, limits)
    try:
        if isdir(path):
            yield from _in_folder(path, wanted, budget)
        else:
            yield from _in_tar(path, wanted, budget)
    except _DAMAGED as error:
        raise InputError(f"{path} is damaged ({error})") from None
    except OSError as error:
        raise InputError(cannot_read(path, error)) from None


def _in_folder(
    folder: Path, wanted: Callable[[tuple[str, ...]], bool], budget: _Budget
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        above = Path(parent).relative_to(folder).parts
        for name in sorted(names):
            file, parts = Path(parent) / name, (*above, name)
            if wanted(parts) and file.is_file() and not file.is_symlink():
                budget.spend("/".join(parts), file.stat().st_size)
                yield parts, read_bytes(file, budget.limits.file_bytes)


def _in_tar(
    path: Path, wanted: Callable[[tuple[str, ...]], bool], budget: _Budget
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    with open_regular(path) as packed, tarfile.open(fileobj=unpacked(packed), mode="r|") as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise InputError(f"'{member.name}' leads out of {path}: it is not the published archive")
            budget.spend(member.name, member.size)  # also of those that are only skipped
            content = tar.extractfile(member) if member.isfile() and wanted(name.parts) else None
            if content is not None:
                yield name.parts, content.read()


def first_usable(
    title: str, path: Path | None, find: Callable[[DataLocation], list[Path]], load: Callable[[Path], T], otherwise: str
) -> T:
    """The first copy that loads, in ``path`` or else in the data locations; an error says what is wrong with each of them."""
    locations = data_locations() if path is None else [DataLocation(path, str(path))]
    searched = describe_locations() if path is None else str(path)
    if path is not None and not exists(path):
        raise InputError(f"there is no {path}; give the folder or the archive of {title}")
    problems = []
    for copy in (copy for location in locations for copy in find(location)):
        try:
            return load(copy)
        except InputError as problem:
            problems.append(str(problem))
    found = [f"no usable {title}: {problem}" for problem in problems]
    if not found:
        found = [f"{title} not found in {searched}"]
    elif path is None:
        found[-1] += f"; searched {searched}"
    raise with_advice(found, otherwise)


def is_tar(path: Path) -> bool:
    """Whether there is a file with the name of a tar archive."""
    return path.name.endswith(TAR_ENDINGS) and isfile(path)


def read_packed(file: Path, most_bytes: int) -> bytes:
    """The content of a file, unpacked if its name ends with .xz; at most so many bytes."""
    with open_regular(file, most_bytes) as stream:
        try:
            source = io.BufferedReader(XzReader(stream)) if file.name.endswith(".xz") else stream
            content = source.read(most_bytes + 1)
        except _DAMAGED as error:
            raise InputError(f"{file} is damaged ({error})") from None
        except OSError as error:
            raise InputError(cannot_read(file, error)) from None
    if len(content) > most_bytes:
        raise InputError(f"{file} unpacks to more than {most_bytes:,} bytes")
    return content
