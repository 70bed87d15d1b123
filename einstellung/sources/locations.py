"""The locations searched for data sets, and the copies found there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os.path import exists, isfile
from pathlib import Path

from einstellung.sources.published import ARCHIVES, PublishedDataset

VARIABLE = "EINSTELLUNG_DATA"


@dataclass(frozen=True)
class DataLocation:
    """A folder (or an archive given by the user), and its name in messages."""

    path: Path
    title: str

    @property
    def exists(self) -> bool:
        return exists(self.path)

    def copies(self, published: PublishedDataset) -> list[Path]:
        """Folders, then archives of the data set here; whether they are intact is not checked."""
        # os.path.isfile, because Path.is_file raises for a folder without read permission
        if isfile(self.path):
            return [self.path] if self.path.name.endswith(ARCHIVES) else []
        inside = self.path / published.folder
        found = [inside] if any(isfile(inside / name) for name in published.md5) else []
        present = [isfile(self.path / name) for name in published.md5]
        if all(present) or (any(present) and self.path.name == published.folder):
            found.append(self.path)
        archives = [self.path / f"{published.folder}{ending}" for ending in ARCHIVES]
        return found + [archive for archive in archives if isfile(archive)]


def data_locations() -> list[DataLocation]:
    """The locations in ``EINSTELLUNG_DATA`` (separated as in PATH), then ``./data`` and ``./data/CIFAR100``.

    >>> [location.title for location in data_locations()][-2:]
    ['./data', './data/CIFAR100']
    """
    named = [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    chosen = [DataLocation(Path(part).expanduser(), f"{VARIABLE}={part}") for part in named]
    default = Path("data")
    return [*chosen, DataLocation(default, "./data"), DataLocation(default / "CIFAR100", "./data/CIFAR100")]


def describe_locations() -> str:
    """All locations, for an error message."""
    unset = "" if os.environ.get(VARIABLE) else f" ({VARIABLE} is not set)"
    return ", ".join(location.title for location in data_locations()) + unset
