"""Which copies of a data set exist, whether they are intact, and how large the cache is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from einstellung.errors import InputError
from einstellung.sources.cache import cache_bytes, cache_folder
from einstellung.sources.locations import DataLocation, data_locations
from einstellung.sources.published import PublishedDataset
from einstellung.sources.reading import read_files


class Checkable(Protocol):
    """A data set that finds its own copies, and reads one to say by what it is known to be intact."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def how_to_get(self) -> str: ...
    def copies(self, location: DataLocation) -> list[Path]: ...
    def check(self, copy: Path) -> str: ...


@dataclass(frozen=True)
class DatasetCopy:
    """A folder or archive of the data set; ``problem`` is None if it is intact, which was ``known_by`` what it holds."""

    path: Path
    problem: str | None
    known_by: str = "md5 of every file"


@dataclass(frozen=True)
class Survey:
    """The copies in every data location, in search order."""

    published: PublishedDataset | Checkable
    locations: tuple[tuple[DataLocation, tuple[DatasetCopy, ...]], ...]

    @property
    def used(self) -> Path | None:
        """The copy that a study would read: the first intact one."""
        return next((copy.path for _, copies in self.locations for copy in copies if copy.problem is None), None)

    def to_dict(self) -> dict[str, object]:
        intact = "md5_right" if isinstance(self.published, PublishedDataset) else "intact"
        return {
            "usable": self.used is not None,
            "used": str(self.used.absolute()) if self.used else None,
            "places": [
                {
                    "place": location.title,
                    "path": str(location.path.absolute()),
                    "exists": location.exists,
                    "found": [
                        {"path": str(copy.path.absolute()), intact: copy.problem is None, "problem": copy.problem}
                        for copy in copies
                    ],
                }
                for location, copies in self.locations
            ],
        }


def survey(published: PublishedDataset | Checkable) -> Survey:
    """Read and verify every copy in every location."""
    return Survey(
        published,
        tuple(
            (location, tuple(_verified(path, published) for path in _copies(location, published)))
            for location in data_locations()
        ),
    )


def _copies(location: DataLocation, published: PublishedDataset | Checkable) -> list[Path]:
    return location.copies(published) if isinstance(published, PublishedDataset) else published.copies(location)


def _verified(path: Path, published: PublishedDataset | Checkable) -> DatasetCopy:
    try:
        if not isinstance(published, PublishedDataset):
            return DatasetCopy(path, None, published.check(path))
        read_files(path, published)
    except InputError as error:
        return DatasetCopy(path, str(error))
    return DatasetCopy(path, None)


def cache_facts() -> dict[str, object]:
    """Path and size of the cache; ``problem`` says why there is none."""
    try:
        folder = cache_folder()
    except InputError as error:
        return {"path": None, "bytes": 0, "problem": str(error)}
    return {"path": str(folder.absolute()), "bytes": cache_bytes(folder), "problem": None}
