"""What of a published data set lies where, whether it is whole, and what the cache takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from einstellung.errors import InputError
from einstellung.sources.cache import cache_bytes, cache_folder
from einstellung.sources.places import Place, places
from einstellung.sources.published import Published
from einstellung.sources.reading import read_files


@dataclass(frozen=True)
class Holding:
    """A folder or archive of the data set; ``problem`` is None where every file has its published md5."""

    path: Path
    problem: str | None


@dataclass(frozen=True)
class Survey:
    """Every place in the order it is looked at, with what lies there."""

    published: Published
    places: tuple[tuple[Place, tuple[Holding, ...]], ...]

    @property
    def used(self) -> Path | None:
        """The copy that a study would read: the first whole one."""
        return next((h.path for _, holdings in self.places for h in holdings if h.problem is None), None)

    def to_dict(self) -> dict[str, object]:
        return {
            "usable": self.used is not None,
            "used": str(self.used.absolute()) if self.used else None,
            "places": [
                {
                    "place": place.words,
                    "path": str(place.path.absolute()),
                    "exists": place.exists,
                    "found": [
                        {"path": str(h.path.absolute()), "md5_right": h.problem is None, "problem": h.problem}
                        for h in holdings
                    ],
                }
                for place, holdings in self.places
            ],
        }


def survey(published: Published) -> Survey:
    """Look at every place, and read every copy that lies there."""
    return Survey(
        published,
        tuple((place, tuple(_holding(path, published) for path in place.holdings(published))) for place in places()),
    )


def _holding(path: Path, published: Published) -> Holding:
    try:
        read_files(path, published)
    except InputError as error:
        return Holding(path, str(error))
    return Holding(path, None)


def cache_facts() -> dict[str, object]:
    """Where the cache is and how large; ``problem`` where there can be none."""
    try:
        folder = cache_folder()
    except InputError as error:
        return {"path": None, "bytes": 0, "problem": str(error)}
    return {"path": str(folder.absolute()), "bytes": cache_bytes(folder), "problem": None}
