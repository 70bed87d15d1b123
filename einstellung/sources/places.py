"""Where the files of published data sets are looked for, and what lies there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os.path import exists, isfile
from pathlib import Path

from einstellung.sources.published import ARCHIVES, Published

VARIABLE = "EINSTELLUNG_DATA"


@dataclass(frozen=True)
class Place:
    """A folder (or an archive named by the user), and how a message calls it."""

    path: Path
    words: str

    @property
    def exists(self) -> bool:
        return exists(self.path)

    def holdings(self, published: Published) -> list[Path]:
        """Folders and archives of the data set here, unpacked ones first; whether they are whole is another question."""
        # Not Path.is_file, which raises where os.path's says no: a folder closed to us holds nothing for us.
        if isfile(self.path):
            return [self.path] if self.path.name.endswith(ARCHIVES) else []
        inside = self.path / published.folder
        found = [inside] if any(isfile(inside / name) for name in published.md5) else []
        present = [isfile(self.path / name) for name in published.md5]
        if all(present) or (any(present) and self.path.name == published.folder):
            found.append(self.path)
        archives = [self.path / f"{published.folder}{ending}" for ending in ARCHIVES]
        return found + [archive for archive in archives if isfile(archive)]


def places() -> list[Place]:
    """What ``EINSTELLUNG_DATA`` names (several places are separated as in PATH), then ``./data``, ``./data/CIFAR100``.

    >>> [place.words for place in places()][-2:]
    ['./data', './data/CIFAR100']
    """
    named = [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    chosen = [Place(Path(part).expanduser(), f"{VARIABLE}={part}") for part in named]
    return [*chosen, Place(Path("data"), "./data"), Place(Path("data") / "CIFAR100", "./data/CIFAR100")]


def looked_in() -> str:
    """The places in the words of a message."""
    unset = "" if os.environ.get(VARIABLE) else f" ({VARIABLE} is not set)"
    return ", ".join(place.words for place in places()) + unset
